//! Host side of latimer.
