//! An arena that is cut up and given back whole.

use core::marker::PhantomData;
use core::ptr::NonNull;

/// The claim to an arena whose bytes others have been lent.
#[derive(Clone, Copy)]
pub(crate) struct Loan<'a> {
    whole: NonNull<[u8]>,
    arena: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a `&mut [u8]`, which may go to other threads and be shared by them.
unsafe impl Send for Loan<'_> {}
// SAFETY: as above; a shared `Loan` gives access to nothing.
unsafe impl Sync for Loan<'_> {}

impl<'a> Loan<'a> {
    /// The arena, to be cut up, and the claim to it.
    pub fn of(arena: &'a mut [u8]) -> (&'a mut [u8], Self) {
        let mut whole = NonNull::from(arena);
        // SAFETY: it was a `&'a mut` just now. The claim gives access only by `back`, whose caller answers for it.
        (unsafe { whole.as_mut() }, Loan { whole, arena: PhantomData })
    }

    /// The arena as it was before it was cut up.
    ///
    /// # Safety
    ///
    /// What [`Loan::of`] lent, and all that was cut from it, must not be used any more, and this must be the claim's only use.
    pub unsafe fn back(self) -> &'a mut [u8] {
        let mut whole = self.whole;
        // SAFETY: by the contract nothing else has access to the bytes, which were lent for `'a`.
        unsafe { whole.as_mut() }
    }
}
