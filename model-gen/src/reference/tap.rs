//! Looking on: the input of every linear as the float model runs, for calibration and for ranges.

use super::math::{linear, matrix_vector};
use crate::import::checkpoint::{Linear, Matrix};
use latimer::blob::layout::Role;

/// Which linear of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Block as the blob counts them: encoder layers, then decoder layers; 65535 for the output matrix.
    pub block: u16,
    /// The role's stored number: roles have no order of their own.
    role: u8,
}

impl Site {
    /// The linear of `role` in `block`.
    pub fn new(block: u16, role: Role) -> Self {
        Self { block, role: role as u8 }
    }

    /// The output matrix, whichever tensor it is.
    pub const OUTPUT: Self = Self { block: u16::MAX, role: Role::Output as u8 };

    /// What the linear is for.
    pub fn role(self) -> Role {
        Role::ALL[usize::from(self.role)]
    }
}

/// Sees the input of every linear just before it is used.
pub trait Tap {
    /// One token's input to the linear at `site`.
    fn input(&mut self, site: Site, x: &[f32]);
}

/// Sees nothing.
impl Tap for () {
    fn input(&mut self, _: Site, _: &[f32]) {}
}

/// A tap, and the block whose linears it is being shown.
pub(super) struct At<'t, T> {
    pub tap: &'t mut T,
    pub block: u16,
}

impl<T: Tap> At<'_, T> {
    /// `linear(x)`, shown to the tap.
    pub fn linear(&mut self, role: Role, layer: &Linear, x: &[f32]) -> Vec<f32> {
        self.tap.input(Site::new(self.block, role), x);
        linear(layer, x)
    }

    /// Logits, shown to the tap.
    pub fn output(tap: &mut T, matrix: &Matrix, bias: &[f32], x: &[f32]) -> Vec<f32> {
        tap.input(Site::OUTPUT, x);
        matrix_vector(matrix, bias, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::load_checkpoint;
    use crate::reference::Reference;
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[derive(Default)]
    struct Calls(BTreeMap<Site, Vec<Vec<f32>>>);

    impl Tap for Calls {
        fn input(&mut self, site: Site, x: &[f32]) {
            self.0.entry(site).or_default().push(x.to_vec());
        }
    }

    #[test]
    fn every_linear_is_seen_once_a_token() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let reference = Reference::new(Arc::new(load_checkpoint(dir.path()).unwrap()));
        let (mut calls, ids) = (Calls::default(), [5, 6, 7, 0]);
        let states = reference.encode_tapped(&ids, &mut calls);
        let memory = states.last().unwrap();
        let mut decoder = reference.decoder_tapped(memory, &mut calls);
        let step = decoder.step_tapped(9, &mut calls);
        decoder.step_tapped(8, &mut calls);
        let checkpoint = reference.checkpoint();
        let (encoders, decoders) = (checkpoint.encoder.len(), checkpoint.decoder.len());
        assert_eq!(calls.0.len(), 6 * encoders + 10 * decoders + 1);
        for (site, inputs) in &calls.0 {
            let cross = matches!(site.role(), Role::CrossK | Role::CrossV);
            let wanted = if usize::from(site.block) < encoders || cross { ids.len() } else { 2 };
            assert_eq!(inputs.len(), wanted, "{site:?}");
        }
        let first = |block: usize, role| &calls.0[&Site::new(block as u16, role)];
        assert_eq!(first(0, Role::SelfQ)[1], states[0].row(1));
        assert_eq!(first(encoders, Role::CrossV)[3], memory.row(3));
        assert_eq!(calls.0[&Site::OUTPUT][0], *step.states.last().unwrap());
        assert_eq!(first(encoders, Role::Fc2)[0].len(), checkpoint.config.decoder_ffn_dim);
    }
}
