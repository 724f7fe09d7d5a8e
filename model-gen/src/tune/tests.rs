use super::gradient::{Network, divergence};
use super::*;
use crate::import::load_checkpoint;
use crate::reference::Reference;
use crate::testing::{RandomSpec, write_random_checkpoint};
use std::sync::Arc;

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

#[test]
fn tuning_brings_a_coarse_model_nearer() {
    let checkpoint = checkpoint(&RandomSpec { vocab: 40, ..RandomSpec::default() });
    let (layout, p) = Layout::of(&checkpoint);
    let mut grid = vec![Grid::default(); layout.len];
    for at in layout.linears().values() {
        let largest = p[at.weight.range()].iter().fold(0f32, |m, w| m.max(w.abs()));
        grid[at.weight.range()].fill(Grid { unit: largest / 7.0, low: -8.0, high: 7.0 });
    }
    let latents: Vec<f32> = p.iter().zip(&grid).map(|(p, g)| if g.unit == 0.0 { *p } else { p / g.unit }).collect();
    let mut random = SplitMix64::new(9);
    let mut ids = |count: usize| (0..count).map(|_| 1 + random.below(38) as u32).chain([0]).collect::<Vec<_>>();
    let sentences: Vec<Sentence> =
        (0..60).map(|i| Sentence { source: ids(2 + i % 5), target: ids(1 + i % 4) }).collect();
    let schedule = Schedule { steps: 40, batch: 16, rate: 0.1, free_rate: 1e-3 };
    let run = || {
        let (mut latents, losses) = (latents.clone(), std::cell::RefCell::new(Vec::new()));
        tune(&checkpoint, &mut latents, &grid, &sentences, schedule, 1, |_, loss| losses.borrow_mut().push(loss));
        (latents, losses.into_inner())
    };
    let (tuned, losses) = run();
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (first, last) = (mean(&losses[..4]), mean(&losses[36..]));
    println!("{first} {last}");
    assert!(last < 0.6 * first, "{losses:?}");
    let rounded = tuned.iter().zip(&grid).filter(|(_, grid)| grid.unit != 0.0);
    rounded.for_each(|(code, grid)| assert!(code.fract() == 0.0 && (grid.low..=grid.high).contains(code)));
    assert_eq!(run(), (tuned, losses), "the same seed gives the same bits");
}
