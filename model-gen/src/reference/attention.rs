//! Multi-head attention of one query over cached keys and values.

use super::math::{dot, softmax};
use super::tap::{At, Tap};
use crate::import::checkpoint::{Attention, Matrix};
use latimer::blob::layout::Role;

/// Roles of an attention's query, key, value and output.
pub(super) type Roles = [Role; 4];
/// Self-attention.
pub(super) const SELF: Roles = [Role::SelfQ, Role::SelfK, Role::SelfV, Role::SelfOut];
/// Attention to the encoder's output.
pub(super) const CROSS: Roles = [Role::CrossQ, Role::CrossK, Role::CrossV, Role::CrossOut];

/// Projected keys and values, one row a position, the heads side by side in a row.
#[derive(Clone, Debug)]
pub(super) struct KeyValues {
    keys: Matrix,
    values: Matrix,
}

impl KeyValues {
    /// No positions yet.
    pub(super) fn new(attention: &Attention) -> Self {
        let empty = |rows| Matrix::zeros(0, rows);
        Self { keys: empty(attention.k_proj.weight.rows), values: empty(attention.v_proj.weight.rows) }
    }

    /// Every row of `states`, projected.
    pub(super) fn of<T: Tap>(attention: &Attention, roles: Roles, states: &Matrix, at: &mut At<'_, T>) -> Self {
        let mut cache = Self::new(attention);
        states.iter_rows().for_each(|state| cache.push(attention, roles, state, at));
        cache
    }

    /// Projects one more position.
    pub(super) fn push<T: Tap>(
        &mut self,
        attention: &Attention,
        [_, key, value, _]: Roles,
        state: &[f32],
        at: &mut At<'_, T>,
    ) {
        self.keys.push_row(&at.linear(key, &attention.k_proj, state));
        self.values.push_row(&at.linear(value, &attention.v_proj, state));
    }
}

/// What `state` gathers from all positions of `cache`, through `out_proj`.
pub(super) fn attend<T: Tap>(
    attention: &Attention,
    [query, .., out]: Roles,
    heads: usize,
    cache: &KeyValues,
    state: &[f32],
    at: &mut At<'_, T>,
) -> Vec<f32> {
    let query = at.linear(query, &attention.q_proj, state);
    let width = query.len() / heads;
    let scale = (width as f32).sqrt().recip();
    let mut gathered = vec![0.0; query.len()];
    for head in 0..heads {
        let part = head * width..(head + 1) * width;
        let query = &query[part.clone()];
        let mut weights: Vec<f32> = cache.keys.iter_rows().map(|key| dot(query, &key[part.clone()]) * scale).collect();
        softmax(&mut weights);
        for (value, weight) in cache.values.iter_rows().zip(weights) {
            for (sum, value) in gathered[part.clone()].iter_mut().zip(&value[part.clone()]) {
                *sum += weight * value;
            }
        }
    }
    at.linear(out, &attention.out_proj, &gathered)
}
