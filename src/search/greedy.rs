//! Greedy search: the highest logit at every step.

use crate::observe::Logits;

/// The highest logit so far; two ids are never chosen, padding and the unknown piece, and ties go to the lower id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    never: [usize; 2],
    id: Option<usize>,
    fixed: i32,
    #[cfg(feature = "f16")]
    float: f32,
}

impl Best {
    /// Nothing seen yet.
    pub const fn new(never: [u16; 2]) -> Self {
        Best {
            never: [never[0] as usize, never[1] as usize],
            id: None,
            fixed: i32::MIN,
            #[cfg(feature = "f16")]
            float: f32::NEG_INFINITY,
        }
    }

    /// Logits of the ids from `first` on, which must come in order.
    #[inline(always)]
    pub fn offer(&mut self, first: usize, logits: Logits<'_>) {
        match logits {
            Logits::Fixed { values, .. } => {
                // Most strips hold nothing higher: one comparison passes over them.
                let highest = values.iter().fold(i32::MIN, |highest, &value| highest.max(value));
                if highest <= self.fixed && self.id.is_some() {
                    return;
                }
                for (id, &value) in (first..).zip(values) {
                    if !self.never.contains(&id) && (value > self.fixed || self.id.is_none()) {
                        (self.id, self.fixed) = (Some(id), value);
                    }
                }
            }
            #[cfg(feature = "f16")]
            Logits::Float(values) => {
                for (id, &value) in (first..).zip(values) {
                    // A NaN is never greater: it is chosen only where nothing else can be.
                    if !self.never.contains(&id) && value > self.float {
                        (self.id, self.float) = (Some(id), value);
                    }
                }
            }
            #[cfg(not(feature = "f16"))]
            Logits::Float(_) => {}
        }
    }

    /// The id of the highest logit.
    pub const fn id(&self) -> Option<u16> {
        match self.id {
            Some(id) => Some(id as u16),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_id_and_pad_is_skipped() {
        let mut best = Best::new([2, 2]);
        best.offer(0, Logits::Fixed { values: &[i32::MIN, -5], frac: 16 });
        best.offer(2, Logits::Fixed { values: &[9, -5], frac: 16 });
        assert_eq!(best.id(), Some(1));
    }

    #[cfg(feature = "f16")]
    #[test]
    fn a_nan_is_not_chosen() {
        let mut best = Best::new([9, 9]);
        best.offer(0, Logits::Float(&[f32::NAN, -1.0, f32::NAN, -1.0]));
        assert_eq!(best.id(), Some(1));
        assert_eq!(Best::new([0, 0]).id(), None);
    }
}
