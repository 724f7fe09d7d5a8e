//! Log lines: through `defmt` when its feature is on, else nothing at all.
//!
//! With `defmt-semihosting` frames go to semihosting's standard error, since standard output is where QEMU has the serial line.

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

#[cfg(all(feature = "defmt-semihosting", target_os = "none"))]
mod transport {
    use core::cell::UnsafeCell;

    use defmt::Encoder;
    use semihosting::io::{Stderr, Write, stderr};

    #[defmt::global_logger]
    struct Logger;

    struct Channel(UnsafeCell<(Encoder, Option<Stderr>)>);

    // SAFETY: the boards have one core and enable no interrupt, so that one thread of execution is all there is.
    unsafe impl Sync for Channel {}

    static CHANNEL: Channel = Channel(UnsafeCell::new((Encoder::new(), None)));

    impl Channel {
        /// Runs `work` with the encoder and what writes its bytes.
        fn with(&self, work: impl FnOnce(&mut Encoder, &mut dyn FnMut(&[u8]))) {
            // SAFETY: nothing runs at the same time (see `Sync`), and neither the encoder nor semihosting logs, so
            // this borrow is the only one.
            let (encoder, output) = unsafe { &mut *self.0.get() };
            if output.is_none() {
                *output = stderr().ok();
            }
            work(encoder, &mut |bytes| {
                // A log that can't be written must not stop the board.
                let _ = output.as_mut().map(|output| output.write_all(bytes));
            });
        }
    }

    // SAFETY: `acquire` is never nested, as nothing interrupts a log statement (see `Channel`); the methods keep to
    // the order of frames that defmt calls them in.
    unsafe impl defmt::Logger for Logger {
        fn acquire() {
            CHANNEL.with(|encoder, write| encoder.start_frame(write));
        }

        unsafe fn flush() {
            // Semihosting writes at once.
        }

        unsafe fn release() {
            CHANNEL.with(|encoder, write| encoder.end_frame(write));
        }

        unsafe fn write(bytes: &[u8]) {
            CHANNEL.with(|encoder, write| encoder.write(bytes, write));
        }
    }
}
