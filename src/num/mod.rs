//! Number formats and their arithmetic, in integers.

pub mod soft_float;
