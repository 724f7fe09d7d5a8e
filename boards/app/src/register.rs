//! A memory-mapped device register.

/// A register of `T` at a fixed address, read and written as a device wants it: each access once and in order.
#[derive(Debug)]
pub struct Register<T>(*mut T);

impl<T: Copy> Register<T> {
    /// The register at `address`.
    ///
    /// # Safety
    /// `address` must be that of a device register of `T`'s size which may be read and written at any time without
    /// touching memory that Rust objects live in.
    pub const unsafe fn at(address: usize) -> Self {
        Self(core::ptr::without_provenance_mut(address))
    }

    /// Reads the register.
    pub fn read(&self) -> T {
        // SAFETY: by the contract of `at` the address is a readable register of this size.
        unsafe { self.0.read_volatile() }
    }

    /// Writes the register.
    pub fn write(&self, value: T) {
        // SAFETY: by the contract of `at` the address is a writable register of this size.
        unsafe { self.0.write_volatile(value) }
    }
}
