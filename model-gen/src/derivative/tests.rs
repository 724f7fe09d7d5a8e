use super::algebra::Normed;
use super::layout::{Layout, LinearAt, MatrixAt, NormAt};
use super::network::{Network, Sink, divergence};
use crate::import::Checkpoint;
use crate::import::load_checkpoint;
use crate::quantize::Sentence;
use crate::reference::Reference;
use crate::testing::{RandomSpec, SplitMix64, write_random_checkpoint};
use std::sync::Arc;

/// The sum of the derivatives.
struct Gradient(Vec<f32>);

impl Sink for Gradient {
    fn linear(&mut self, at: LinearAt, x: &[f32], dy: &[f32]) {
        let (rows, cols) = (at.weight.rows, at.weight.cols);
        for (x, dy) in x.chunks_exact(cols).zip(dy.chunks_exact(rows)) {
            for (o, dy) in dy.iter().enumerate() {
                let row = &mut self.0[at.weight.range()][o * cols..][..cols];
                row.iter_mut().zip(x).for_each(|(g, x)| *g += dy * x);
            }
            self.0[at.bias()].iter_mut().zip(dy).for_each(|(g, dy)| *g += dy);
        }
    }

    fn norm(&mut self, at: NormAt, normed: &Normed, dy: &[f32]) {
        for (unit, dy) in normed.unit.chunks_exact(at.len).zip(dy.chunks_exact(at.len)) {
            self.0[at.gamma()].iter_mut().zip(unit.iter().zip(dy)).for_each(|(g, (u, dy))| *g += u * dy);
            self.0[at.beta()].iter_mut().zip(dy).for_each(|(g, dy)| *g += dy);
        }
    }

    fn embedding(&mut self, at: MatrixAt, _: bool, ids: &[u32], drows: &[f32]) {
        for (id, drow) in ids.iter().zip(drows.chunks_exact(at.cols)) {
            let row = &mut self.0[at.at + *id as usize * at.cols..][..at.cols];
            row.iter_mut().zip(drow).for_each(|(g, d)| *g += d);
        }
    }
}

fn checkpoint(spec: &RandomSpec) -> Checkpoint {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), spec).unwrap();
    load_checkpoint(dir.path()).unwrap()
}

fn sentence() -> Sentence {
    Sentence { source: vec![5, 19, 33, 7, 0], target: vec![11, 40, 3, 0] }
}

#[test]
fn forwards_is_the_reference() {
    for spec in
        [RandomSpec::default(), RandomSpec { target_vocab: Some(59), tied_output: false, ..RandomSpec::default() }]
    {
        let checkpoint = checkpoint(&spec);
        let (layout, p) = Layout::of(&checkpoint);
        let mut copy = checkpoint.clone();
        Layout::write(&vec![0.0; layout.len], &mut copy);
        assert!(copy.encoder[0].fc1.weight.data.iter().all(|w| *w == 0.0));
        Layout::write(&p, &mut copy);
        assert_eq!((&copy.encoder, &copy.decoder), (&checkpoint.encoder, &checkpoint.decoder));
        assert_eq!(copy.output_is_tied(), checkpoint.output_is_tied());
        assert_eq!(copy.embeddings_are_shared(), checkpoint.embeddings_are_shared());

        let found = Network { config: &checkpoint.config, layout: &layout }.forward(&p, &sentence()).logits;
        let reference = Reference::new(Arc::new(checkpoint));
        let states = reference.encode(&sentence().source);
        let mut decoder = reference.decoder(states.last().unwrap());
        let start = reference.checkpoint().config.decoder_start_token_id;
        let wanted: Vec<f32> = [start, 11, 40, 3].iter().flat_map(|id| decoder.step(*id).logits).collect();
        assert_eq!(found.len(), wanted.len());
        found.iter().zip(&wanted).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} {b}"));
    }
}

/// Every kind of parameter, against differences of the divergence.
#[test]
fn backwards_is_the_derivative() {
    for activation in ["relu", "swish", "gelu"] {
        let spec = RandomSpec { activation, decoder_layers: 2, tied_output: false, ..RandomSpec::default() };
        let checkpoint = checkpoint(&spec);
        let (layout, p) = Layout::of(&checkpoint);
        let network = Network { config: &checkpoint.config, layout: &layout };
        let mut random = SplitMix64::new(3);
        let teacher: Vec<f32> = (0..4 * layout.output.weight.rows).map(|_| random.uniform(0.0, 2.0)).collect();
        let loss = |p: &[f32]| {
            let mut pass = network.forward(p, &sentence());
            let mut logits = std::mem::take(&mut pass.logits);
            let loss = divergence(&teacher, &mut logits, layout.output.weight.rows);
            (loss, pass, logits)
        };
        let (_, pass, dlogits) = loss(&p);
        let mut gradient = Gradient(vec![0.0; layout.len]);
        network.backward(&p, &mut gradient, &pass, &dlogits);
        let g = gradient.0;
        // Along random directions within each tensor: a single parameter's difference drowns in rounding.
        for range in layout.tensors() {
            let direction: Vec<f32> = range.clone().map(|_| random.uniform(0.0, 1.0)).collect();
            let along: f64 = g[range.clone()].iter().zip(&direction).map(|(g, d)| f64::from(g * d)).sum();
            let moved = |h: f32| {
                let mut p = p.clone();
                p[range.clone()].iter_mut().zip(&direction).for_each(|(p, d)| *p += h * d);
                loss(&p).0
            };
            let h = 2e-3 / (range.len() as f32).sqrt();
            let difference = (moved(h) - moved(-h)) / f64::from(2.0 * h);
            let size = g[range.clone()].iter().map(|g| f64::from(g * g)).sum::<f64>().sqrt();
            assert!(
                (along - difference).abs() < 0.03 * size + 2e-3,
                "{activation} {range:?}: {along} {difference} {size}"
            );
        }
    }
}
