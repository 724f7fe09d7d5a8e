//! The aligner on small corpora whose links are known.

use super::*;
use crate::testing::SplitMix64;

fn pair(source: &[u16], target: &[u16]) -> Pair {
    Pair { source: source.to_vec(), target: target.to_vec() }
}

fn links(aligner: &Aligner, pair: &Pair) -> Vec<Option<usize>> {
    aligner.links(pair).iter().map(|link| link.source).collect()
}

/// `la casa`, `la flor`, `casa azul`: adjectives change places.
#[test]
fn finds_words_by_the_company_they_keep() {
    let [the, house, flower, blue] = [0, 1, 2, 3];
    let [la, casa, flor, azul] = [10, 11, 12, 13];
    let pairs = [
        pair(&[the, house], &[la, casa]),
        pair(&[the, flower], &[la, flor]),
        pair(&[the, blue, house], &[la, casa, azul]),
        pair(&[the, blue, flower], &[la, flor, azul]),
        pair(&[blue], &[azul]),
    ];
    let aligner = Aligner::learn(&pairs, || {});
    assert_eq!(links(&aligner, &pairs[2]), [Some(0), Some(2), Some(1)]);
    assert_eq!(links(&aligner, &pairs[3]), [Some(0), Some(2), Some(1)]);
    let lexicon = aligner.lexicon();
    for (source, target) in [(the, la), (house, casa), (flower, flor), (blue, azul)] {
        let best = lexicon.translations(Some(source)).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0, target, "{source}");
        assert!(best.1 > 0.6, "{source}: {}", best.1);
    }
    for target in 0..3 {
        let all = aligner.posteriors(&pairs[2]);
        let sum: f32 = all.iter().filter(|link| link.target == target).map(|link| link.probability).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }
}

/// A made-up language: words in another order, and a target word that stands for nothing.
#[test]
fn recovers_a_random_dictionary_and_repeats_itself() {
    let (words, filler) = (60, 500);
    let mut random = SplitMix64::new(5);
    let mut pairs = Vec::new();
    for _ in 0..2000 {
        let source: Vec<u16> = (0..2 + random.below(7)).map(|_| random.below(words) as u16).collect();
        let mut target: Vec<u16> = source.iter().map(|id| 100 + id).collect();
        let swap = random.below(target.len() - 1);
        target.swap(swap, swap + 1);
        target.insert(random.below(target.len() + 1), filler);
        pairs.push(Pair { source, target });
    }
    let passes = std::sync::atomic::AtomicUsize::new(0);
    let aligner = Aligner::learn(&pairs, || {
        passes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(passes.into_inner(), ALL_PASSES);
    for id in 0..words as u16 {
        let best = aligner.lexicon().translations(Some(id)).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0, 100 + id, "{}", best.1);
    }
    let (mut right, mut all) = (0, 0);
    for pair in &pairs {
        for link in aligner.links(pair) {
            // The filler is in every target: any word might have brought it.
            if pair.target[link.target] != filler {
                right += usize::from(link.source.is_some_and(|i| 100 + pair.source[i] == pair.target[link.target]));
                all += 1;
            }
        }
    }
    assert!(right as f64 > 0.98 * all as f64, "{right} of {all}");
    let again = Aligner::learn(&pairs, || {});
    assert_eq!(again.lexicon(), aligner.lexicon());
}

#[test]
fn odd_pairs_do_no_harm() {
    let pairs = [pair(&[], &[]), pair(&[], &[4]), pair(&[4], &[]), pair(&[u16::MAX], &[u16::MAX])];
    let aligner = Aligner::learn(&pairs, || {});
    assert_eq!(links(&aligner, &pairs[1]), [None]);
    assert_eq!(links(&aligner, &pairs[3]), [Some(0)]);
    assert_eq!(links(&aligner, &pair(&[9], &[9])), [None]);
    assert!(links(&Aligner::learn(&[], || {}), &pairs[3]) == [None]);
}
