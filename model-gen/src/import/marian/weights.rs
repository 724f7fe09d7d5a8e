//! Marian's parameters into a [`Checkpoint`]. Vectors are stored as matrices of one row; a linear's matrix has one row
//! an input, so that it is transposed here.

use std::path::Path;
use std::sync::Arc;

use super::npz::Npz;
use super::options::Options;
use crate::import::checkpoint::{Attention, Checkpoint, DecoderLayer, EncoderLayer, LayerNorm, Linear, Matrix};
use crate::import::config::Config;
use crate::import::error::ImportError;
use crate::import::tensors::Reader;

/// Reads the weights; `config` is what [`super::Marian::config`] made of `options` and the vocabularies.
pub(super) fn read(path: &Path, npz: Npz<'_>, options: &Options, config: Config) -> Result<Checkpoint, ImportError> {
    if let Some(name) = npz.arrays.keys().find(|name| name.ends_with("_QuantMultA")) {
        return Err(ImportError::Damaged {
            path: path.to_owned(),
            reason: format!("{name}: the weights are quantized for Marian's own engine"),
            remedy: "give the float model that they were made from".to_owned(),
        });
    }
    let mut weights = Weights { reader: Reader::new(npz.arrays), options, d: config.d_model };
    let encoder = (1..=config.encoder_layers).map(|layer| weights.encoder_layer(layer)).collect();
    let decoder = (1..=config.decoder_layers).map(|layer| weights.decoder_layer(layer)).collect();
    // The last row of the decoder's matrices is not in the file.
    let target_rows = config.decoder_vocab_size - 1;
    let (source_embedding, target_embedding) = if config.share_encoder_decoder_embeddings {
        let shared = Arc::new(weights.embedding("Wemb", target_rows, true));
        (Arc::clone(&shared), shared)
    } else {
        let source = weights.embedding("encoder_Wemb", config.vocab_size, false);
        (Arc::new(source), Arc::new(weights.embedding("decoder_Wemb", target_rows, true)))
    };
    let output =
        if config.tie_word_embeddings { Arc::clone(&target_embedding) } else { Arc::new(weights.output(target_rows)) };
    let mut final_logits_bias = if options.omit_bias {
        vec![0.0; target_rows]
    } else {
        weights.reader.required("decoder_ff_logit_out_b", &[1, target_rows])
    };
    final_logits_bias.push(0.0);
    let problems = weights.reader.finish();
    ImportError::collect(path, "arrays that do not fit the model's options and vocabularies:", problems)?;
    Ok(Checkpoint { config, encoder, decoder, source_embedding, target_embedding, output, final_logits_bias })
}

struct Weights<'a> {
    reader: Reader<'a>,
    options: &'a Options,
    d: usize,
}

impl Weights<'_> {
    fn encoder_layer(&mut self, layer: usize) -> EncoderLayer {
        let key = format!("encoder_l{layer}");
        let [fc1, fc2] = self.feed_forward(&key, self.options.dim_ffn);
        EncoderLayer {
            self_attn: self.attention(&format!("{key}_self")),
            self_attn_layer_norm: self.layer_norm(&format!("{key}_self_Wo")),
            fc1,
            fc2,
            final_layer_norm: self.layer_norm(&format!("{key}_ffn_ffn")),
        }
    }

    fn decoder_layer(&mut self, layer: usize) -> DecoderLayer {
        let key = format!("decoder_l{layer}");
        let [fc1, fc2] = self.feed_forward(&key, self.options.decoder_dim_ffn);
        DecoderLayer {
            self_attn: self.attention(&format!("{key}_self")),
            self_attn_layer_norm: self.layer_norm(&format!("{key}_self_Wo")),
            encoder_attn: self.attention(&format!("{key}_context")),
            encoder_attn_layer_norm: self.layer_norm(&format!("{key}_context_Wo")),
            fc1,
            fc2,
            final_layer_norm: self.layer_norm(&format!("{key}_ffn_ffn")),
        }
    }

    fn attention(&mut self, key: &str) -> Attention {
        let d = self.d;
        let mut proj = |letter| self.linear(&format!("{key}_W{letter}"), &format!("{key}_b{letter}"), d, d);
        Attention { q_proj: proj('q'), k_proj: proj('k'), v_proj: proj('v'), out_proj: proj('o') }
    }

    /// Both linears, with the nonlinearity's scale in them: `fc2(f(s fc1(x)) / s)`.
    fn feed_forward(&mut self, key: &str, dim_ffn: usize) -> [Linear; 2] {
        let d = self.d;
        let mut linear =
            |n, outputs, inputs| self.linear(&format!("{key}_ffn_W{n}"), &format!("{key}_ffn_b{n}"), outputs, inputs);
        let (mut fc1, mut fc2) = (linear(1, dim_ffn, d), linear(2, d, dim_ffn));
        let scale = self.options.activation.scale();
        if scale != 1.0 {
            fc1.weight.data.iter_mut().chain(&mut fc1.bias).for_each(|w| *w *= scale);
            fc2.weight.data.iter_mut().for_each(|w| *w /= scale);
        }
        [fc1, fc2]
    }

    fn layer_norm(&mut self, key: &str) -> LayerNorm {
        let mut vector = |name| self.reader.required(&format!("{key}_ln_{name}"), &[1, self.d]);
        LayerNorm { weight: vector("scale"), bias: vector("bias") }
    }

    fn linear(&mut self, weight: &str, bias: &str, outputs: usize, inputs: usize) -> Linear {
        Linear { weight: self.transposed(weight, outputs, inputs), bias: self.reader.required(bias, &[1, outputs]) }
    }

    /// A matrix stored as `cols` x `rows`.
    fn transposed(&mut self, key: &str, rows: usize, cols: usize) -> Matrix {
        let stored = self.reader.required(key, &[cols, rows]);
        // Nothing, where there was a problem.
        let at = |row, col| stored.get(col * rows + row).copied();
        let data = (0..rows).flat_map(|row| (0..cols).filter_map(move |col| at(row, col))).collect();
        Matrix { rows, cols, data }
    }

    /// An embedding; the start token's row of zeros comes last.
    fn embedding(&mut self, key: &str, rows: usize, start: bool) -> Matrix {
        let mut matrix = Matrix { rows, cols: self.d, data: self.reader.required(key, &[rows, self.d]) };
        if start {
            matrix.push_row(&vec![0.0; self.d]);
        }
        matrix
    }

    /// An output matrix of its own: one row an id, or one column in files of older versions.
    fn output(&mut self, rows: usize) -> Matrix {
        let (key, old) = ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W");
        let mut matrix = if self.reader.contains(old) {
            self.transposed(old, rows, self.d)
        } else {
            Matrix { rows, cols: self.d, data: self.reader.required(key, &[rows, self.d]) }
        };
        matrix.push_row(&vec![0.0; self.d]);
        matrix
    }
}
