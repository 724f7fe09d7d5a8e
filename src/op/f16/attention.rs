//! Attention of one token over cached keys and values.

use super::{F16, Math, lanes};
use crate::engine::{AttendScratch, Cached, Watched};
use crate::num::half_float::widen;
use half::f16;

/// `query` becomes the context.
pub(super) fn attend(
    math: Math,
    (token, query): (usize, &mut [f32]),
    keys: Cached<F16>,
    values: Cached<F16>,
    heads: usize,
    scratch: &mut AttendScratch<F16>,
) {
    let d_model = query.len().max(1);
    let head_dim = (d_model / heads.max(1)).max(1);
    let scale = math.inverse_sqrt(head_dim as f32);
    let AttendScratch { scores, watched, .. } = scratch;
    for (head, query) in query.chunks_exact_mut(head_dim).enumerate() {
        let start = head * head_dim;
        let part = |row: &'_ [f16]| -> core::ops::Range<usize> { start..(start + head_dim).min(row.len()) };
        let mut largest = f32::NEG_INFINITY;
        for (key, score) in keys.rows.chunks_exact(d_model).take(keys.visible).zip(scores.iter_mut()) {
            let key = key.get(part(key)).unwrap_or_default();
            *score = lanes(query.iter().zip(key).map(|(&q, &k)| q * widen(k))) * scale;
            largest = if *score > largest { *score } else { largest };
        }
        Watched::note(watched, head, token, scores.get(..keys.visible).unwrap_or_default());
        let mut sum = 0.0;
        query.fill(0.0);
        for (value, score) in values.rows.chunks_exact(d_model).take(keys.visible).zip(scores.iter()) {
            let value = value.get(part(value)).unwrap_or_default();
            let weight = math.exp(*score - largest);
            sum += weight;
            query.iter_mut().zip(value).for_each(|(out, &v)| *out += weight * widen(v));
        }
        query.iter_mut().for_each(|x| *x /= sum);
    }
}
