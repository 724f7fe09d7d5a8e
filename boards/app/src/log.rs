//! Log lines: through `defmt` when its feature is on, else nothing at all.

#[cfg(all(feature = "defmt", target_os = "none"))]
use defmt_semihosting as _;

/// `defmt::info!` where the feature is on.
macro_rules! info {
    ($($arg:tt)*) => {
        #[cfg(feature = "defmt")]
        defmt::info!($($arg)*);
    };
}

/// `defmt::debug!` where the feature is on.
macro_rules! debug {
    ($($arg:tt)*) => {
        #[cfg(feature = "defmt")]
        defmt::debug!($($arg)*);
    };
}

pub(crate) use {debug, info};
