//! Operators of each engine. The files of the two engines stand side by side under the same names.

#[cfg(feature = "f16")]
pub(crate) mod f16;
#[cfg(feature = "int8")]
pub(crate) mod int8;
#[cfg(all(test, any(feature = "int8", feature = "f16")))]
mod made;
