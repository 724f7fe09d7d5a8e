//! Where a firmware's models are.

use latimer::blob::find;

/// The module `models` of a firmware, as `boards/build.rs` has written it: `models()` and `ARENA_BYTES`.
///
/// A board without a `memory.x` names the function that gives the region of flash for models that are flashed apart.
#[macro_export]
macro_rules! models {
    ($($region:path)?) => {
        mod models {
            //! Where the models are.
            use $crate as app;
            $(
                #[allow(unused_imports, reason = "only for models that are flashed apart")]
                use $region as region;
            )?
            include!(concat!(env!("OUT_DIR"), "/models.rs"));
        }
    };
}

/// The models of a firmware, numbered from 1.
#[derive(Clone, Copy, Debug)]
pub enum Models<'m> {
    /// Linked into the firmware.
    Linked(&'m [&'m [u8]]),
    /// In a region of flash, written there apart from the firmware and found by their headers.
    Flash(&'m [u8]),
}

impl<'m> Models<'m> {
    /// The region of flash from `start` up to `end`.
    ///
    /// # Safety
    /// All of it must be readable and unchanged for as long as `'m`.
    pub unsafe fn flash(start: *const u8, end: *const u8) -> Self {
        let len = end.addr().saturating_sub(start.addr());
        // SAFETY: by this function's contract.
        Self::Flash(unsafe { core::slice::from_raw_parts(start, len) })
    }

    /// Model `number`, if there is one.
    pub fn get(self, number: usize) -> Option<&'m [u8]> {
        let index = number.checked_sub(1)?;
        match self {
            Self::Linked(models) => models.get(index).copied(),
            Self::Flash(region) => find(region).nth(index),
        }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Self::Linked(models) => models.len(),
            Self::Flash(region) => find(region).count(),
        }
    }
}
