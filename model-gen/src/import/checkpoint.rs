//! The weights of a MarianMT model in f32; fields are named after the checkpoint's keys.

use std::sync::Arc;

use super::config::Config;

/// A row-major matrix. A linear's weight has one row an output feature, an embedding one row an id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Length of a row.
    pub cols: usize,
    /// `rows * cols` values, row by row.
    pub data: Vec<f32>,
}

impl Matrix {
    /// `rows` rows of `cols` zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// Row `row`; panics past the last one.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.cols..][..self.cols]
    }

    /// Adds a row below the last one; panics unless it is `cols` long.
    pub fn push_row(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.cols, "a row has the matrix's width");
        self.data.extend_from_slice(row);
        self.rows += 1;
    }

    /// The rows in order.
    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        (0..self.rows).map(|row| self.row(row))
    }
}

/// `y = weight x + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// Outputs x inputs.
    pub weight: Matrix,
    /// One value an output.
    pub bias: Vec<f32>,
}

/// Layer normalization over the residual stream, with the epsilon of [`Config::norm_eps`].
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// Gamma.
    pub weight: Vec<f32>,
    /// Beta.
    pub bias: Vec<f32>,
}

/// The four projections of multi-head attention, all `d_model` x `d_model`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Queries, from the residual stream.
    pub q_proj: Linear,
    /// Keys, from the residual stream or the encoder's output.
    pub k_proj: Linear,
    /// Values, from where the keys come.
    pub v_proj: Linear,
    /// Mixes the heads.
    pub out_proj: Linear,
}

/// One encoder layer: self-attention, norm, feed-forward, norm.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderLayer {
    /// Attends to the whole source.
    pub self_attn: Attention,
    /// After the first residual sum.
    pub self_attn_layer_norm: LayerNorm,
    /// Widens to `encoder_ffn_dim`.
    pub fc1: Linear,
    /// Narrows back to `d_model`.
    pub fc2: Linear,
    /// After the second residual sum.
    pub final_layer_norm: LayerNorm,
}

/// One decoder layer: causal self-attention, cross-attention, feed-forward, a norm after each.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderLayer {
    /// Attends to what has been decoded.
    pub self_attn: Attention,
    /// After the first residual sum.
    pub self_attn_layer_norm: LayerNorm,
    /// Attends to the encoder's output.
    pub encoder_attn: Attention,
    /// After the second residual sum.
    pub encoder_attn_layer_norm: LayerNorm,
    /// Widens to `decoder_ffn_dim`.
    pub fc1: Linear,
    /// Narrows back to `d_model`.
    pub fc2: Linear,
    /// After the third residual sum.
    pub final_layer_norm: LayerNorm,
}

/// A whole model. Tied matrices share one allocation: compare with [`Arc::ptr_eq`].
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The config the tensors were checked against.
    pub config: Config,
    /// Encoder layers, first to last.
    pub encoder: Vec<EncoderLayer>,
    /// Decoder layers, first to last.
    pub decoder: Vec<DecoderLayer>,
    /// `vocab_size` x `d_model`.
    pub source_embedding: Arc<Matrix>,
    /// `decoder_vocab_size` x `d_model`.
    pub target_embedding: Arc<Matrix>,
    /// The output matrix, `decoder_vocab_size` x `d_model`.
    pub output: Arc<Matrix>,
    /// Added to the logits, `decoder_vocab_size` long.
    pub final_logits_bias: Vec<f32>,
}

impl Checkpoint {
    /// Whether the output matrix is the target embedding.
    pub fn output_is_tied(&self) -> bool {
        Arc::ptr_eq(&self.output, &self.target_embedding)
    }

    /// Whether source and target embedding are one matrix.
    pub fn embeddings_are_shared(&self) -> bool {
        Arc::ptr_eq(&self.source_embedding, &self.target_embedding)
    }
}
