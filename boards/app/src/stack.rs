//! Stack use, by painting: fill the free part early, later look how much of the paint is left.

/// What unused words hold. An odd number that neither code addresses nor small counts look like.
const PAINT: u32 = 0xDEAD_57AC;

/// Bytes left unpainted below `paint`'s own locals, for its frame and those of what it calls in debug builds.
const MARGIN: usize = 512;

/// Size and deepest use of a stack, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// Bytes the stack may grow to.
    pub size: usize,
    /// Bytes from its top to the deepest word that was ever written.
    pub high_water: usize,
}

/// The memory a full-descending stack may grow into.
#[derive(Debug)]
pub struct Stack {
    lowest: *mut u32,
    top: *mut u32,
}

impl Stack {
    /// The stack between `lowest` and `top`, both multiples of 4.
    ///
    /// # Safety
    /// The addresses from `lowest` up to `top` must be RAM that only the running stack uses, and the stack must grow
    /// down from `top`. Interrupt handlers that use the same stack must be off while [`Stack::paint`] runs.
    pub const unsafe fn new(lowest: *mut u32, top: *mut u32) -> Self {
        Self { lowest, top }
    }

    /// Paints what is free. Call it once, as early as may be: what was used deeper before is not seen.
    #[inline(never)]
    pub fn paint(&self) {
        let here = 0u32;
        let free_end = (&raw const here).addr().saturating_sub(MARGIN);
        let mut word = self.lowest;
        while word.addr() < free_end {
            // SAFETY: by the contract of `new` this is stack memory, and it lies below every live frame (`here` is in
            // the innermost one, `MARGIN` covers the rest of it), so no Rust object is there.
            unsafe { word.write_volatile(PAINT) };
            word = word.wrapping_add(1);
        }
    }

    /// Size and deepest use so far.
    pub fn measure(&self) -> StackUse {
        let size = self.top.addr().saturating_sub(self.lowest.addr());
        let mut word = self.lowest;
        // SAFETY: the words below `top` are stack memory by the contract of `new`, initialized by `paint` or by frames.
        while word.addr() < self.top.addr() && unsafe { word.read_volatile() } == PAINT {
            word = word.wrapping_add(1);
        }
        StackUse { size, high_water: self.top.addr().saturating_sub(word.addr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_the_deepest_word_written() {
        let mut memory = [PAINT; 64];
        // Paint above the deepest word may be left over; it does not count.
        memory[40] = 1;
        let range = memory.as_mut_ptr_range();
        // SAFETY: the array stands for a stack; it is only read.
        let stack = unsafe { Stack::new(range.start, range.end) };
        assert_eq!(stack.measure(), StackUse { size: 256, high_water: (64 - 40) * 4 });
    }

    #[test]
    fn paints_nothing_above_the_frame_that_paints() {
        // The array lies in this test's frame, above `paint`'s: from its start on, nothing is free.
        let mut memory = [7u32; 64];
        let range = memory.as_mut_ptr_range();
        // SAFETY: nothing is written, as asserted.
        let stack = unsafe { Stack::new(range.start, range.end) };
        stack.paint();
        assert_eq!(stack.measure(), StackUse { size: 256, high_water: 256 });
        assert_eq!(memory, [7; 64]);
    }
}
