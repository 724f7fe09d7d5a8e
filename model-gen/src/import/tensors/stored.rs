//! A tensor as a file has it: borrowed bytes, a shape, and steps between elements where they do not lie in order.

use half::{bf16, f16};

/// What an element is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::import) enum Element {
    F16,
    BF16,
    F32,
    F64,
    /// A type that holds no plain float, by the file's name for it.
    Other(String),
}

impl Element {
    /// Bytes of one; none where nothing is known of the type.
    fn size(&self) -> Option<usize> {
        match self {
            Element::F16 | Element::BF16 => Some(2),
            Element::F32 => Some(4),
            Element::F64 => Some(8),
            Element::Other(_) => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Element::F16 => "F16",
            Element::BF16 => "BF16",
            Element::F32 => "F32",
            Element::F64 => "F64",
            Element::Other(name) => name,
        }
    }
}

/// One tensor of a file. Elements are little-endian.
#[derive(Clone, Debug)]
pub(in crate::import) struct Stored<'a> {
    element: Element,
    shape: Vec<usize>,
    /// Elements from one index to the next, for each dimension.
    strides: Vec<usize>,
    /// Begins with the tensor's first element.
    bytes: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Elements in row-major order from the beginning of `bytes`; none if the bytes end before them.
    pub(in crate::import) fn in_order(element: Element, shape: Vec<usize>, bytes: &'a [u8]) -> Option<Self> {
        let mut strides = vec![1usize; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].checked_mul(shape[i].max(1))?;
        }
        Self::strided(element, shape, strides, 0, bytes)
    }

    /// Elements `strides` apart, the first of them `offset` elements into `bytes`; none if one lies past the end, or if
    /// there are more of them than the bytes hold: a few bytes repeated are no weights, but could fill any memory.
    pub(in crate::import) fn strided(
        element: Element,
        shape: Vec<usize>,
        strides: Vec<usize>,
        offset: usize,
        bytes: &'a [u8],
    ) -> Option<Self> {
        // An element of unknown size is never looked at.
        let size = element.size().unwrap_or(0);
        let bytes = bytes.get(offset.checked_mul(size)?..)?;
        let mut last = 0usize;
        for (&n, &stride) in shape.iter().zip(&strides) {
            last = last.checked_add(n.saturating_sub(1).checked_mul(stride)?)?;
        }
        let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n))?;
        let end = if count == 0 { 0 } else { last.checked_add(1)?.max(count).checked_mul(size)? };
        (shape.len() == strides.len() && end <= bytes.len()).then_some(Self { element, shape, strides, bytes })
    }

    pub(in crate::import) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type's name.
    pub(in crate::import) fn element(&self) -> &str {
        self.element.name()
    }

    /// The values in row-major order; none for a type that holds no plain float.
    pub(in crate::import) fn values(&self) -> Option<Vec<f32>> {
        Some(match self.element {
            Element::F16 => self.gather(|b| f16::from_le_bytes(b).to_f32()),
            Element::BF16 => self.gather(|b| bf16::from_le_bytes(b).to_f32()),
            Element::F32 => self.gather(f32::from_le_bytes),
            Element::F64 => self.gather(|b| f64::from_le_bytes(b) as f32),
            Element::Other(_) => return None,
        })
    }

    fn gather<const N: usize>(&self, value: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        let (elements, _) = self.bytes.as_chunks::<N>();
        let count = self.shape.iter().product();
        let mut index = vec![0; self.shape.len()];
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let at: usize = index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum();
            values.push(value(elements[at]));
            // The next index, the last dimension fastest.
            for (i, &n) in index.iter_mut().zip(&self.shape).rev() {
                *i += 1;
                if *i < n {
                    break;
                }
                *i = 0;
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_view_is_gathered() {
        let bytes: Vec<u8> = (0..7).flat_map(|x| (x as f32).to_le_bytes()).collect();
        let view = Stored::strided(Element::F32, vec![3, 2], vec![1, 3], 1, &bytes).unwrap();
        assert_eq!(view.values().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let whole = Stored::in_order(Element::F32, vec![2, 3], &bytes[4..]).unwrap();
        assert_eq!(whole.values().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn elements_past_the_end_are_refused() {
        let bytes = [0; 24];
        let strided = |shape: &[usize], strides: &[usize], offset| {
            Stored::strided(Element::F32, shape.to_vec(), strides.to_vec(), offset, &bytes).is_some()
        };
        assert!(strided(&[3, 2], &[1, 3], 0) && strided(&[], &[], 5) && strided(&[0, 9], &[1, 1], 6));
        assert!(!strided(&[3, 2], &[1, 3], 1) && !strided(&[], &[], 6) && !strided(&[0], &[1], 7));
        assert!(!strided(&[2, 2], &[usize::MAX, 2], 0) && !strided(&[1], &[1], usize::MAX) && !strided(&[1], &[], 0));
        assert!(strided(&[3, 2], &[0, 1], 0) && !strided(&[4, 2], &[0, 1], 0) && !strided(&[1 << 40], &[0], 0));
        assert!(Stored::in_order(Element::F16, vec![usize::MAX, 2, usize::MAX], &bytes).is_none());
    }

    #[test]
    fn every_float_type_is_widened_or_rounded() {
        let one = |element, bytes: &[u8]| Stored::in_order(element, vec![1], bytes).unwrap().values();
        assert_eq!(one(Element::F16, &f16::from_f32(-1.5).to_le_bytes()), Some(vec![-1.5]));
        assert_eq!(one(Element::BF16, &bf16::from_f32(-1.5).to_le_bytes()), Some(vec![-1.5]));
        assert_eq!(one(Element::F64, &0.1f64.to_le_bytes()), Some(vec![0.1]));
        assert_eq!(one(Element::F64, &1e300f64.to_le_bytes()), Some(vec![f32::INFINITY]));
        assert_eq!(one(Element::Other("I64".to_owned()), &[]), None);
    }
}
