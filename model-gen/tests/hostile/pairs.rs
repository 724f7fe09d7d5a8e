//! Matrices that can't lie in pairs, and say that they do.

use super::{place, refused, repair};
use crate::common::{random_checkpoint, tiny};
use latimer::blob::layout::{Role, SectionKind, TensorEntry};
use latimer::blob::tensor::dtype;
use latimer::kernel::layout::PAIR_COLUMNS;
use latimer::{BlobError, EngineKind, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::pack::{Options, pack};
use model_gen::quantize::InputBits;
use model_gen::testing::RandomSpec;

/// A blob whose inputs have 8 bits, in pairs where that can be; the second feed-forward matrix has `ffn` columns.
fn blob(ffn: usize) -> AlignedBytes {
    let mut options = Options { dsp_pairs: true, ..Options::new(EngineKind::Int8) };
    options.settings.bits = InputBits::all(8);
    let dir = random_checkpoint(&RandomSpec { ffn, ..tiny() });
    AlignedBytes::copy_of(&pack(dir.path(), &options).unwrap().bytes)
}

/// The blob with every tensor that `change` changes, one at a time, refused for that tensor.
fn all_refused(blob: &AlignedBytes, change: impl Fn(&mut TensorEntry) -> bool) -> usize {
    let places = place(blob, SectionKind::Tensors).step_by(TensorEntry::SIZE);
    let mut tried = 0;
    for (index, at) in places.enumerate() {
        let mut entry = TensorEntry::read(blob, at).unwrap();
        if !change(&mut entry) {
            continue;
        }
        let mut mutant = blob.clone();
        entry.write(&mut mutant, at).unwrap();
        repair(&mut mutant);
        let wanted = BlobError::Malformed { section: SectionKind::Tensors as u32, index: index as u32 };
        assert_eq!(refused(&mutant), wanted, "{entry:?}");
        tried += 1;
    }
    tried
}

#[test]
fn inputs_of_more_than_8_bits_are_refused() {
    let blob = blob(12);
    Model::from_bytes(&blob).unwrap();
    for bits in [9, 14, 16] {
        let tried = all_refused(&blob, |entry| {
            entry.in_bits = bits;
            entry.dtype == dtype::I8_PAIRS
        });
        // The vocabulary, six matrices of the encoder block and ten of the decoder block.
        assert_eq!(tried, 17);
    }
}

#[test]
fn columns_that_no_pairs_have_are_refused() {
    for cols in [10, PAIR_COLUMNS + 4] {
        let blob = blob(cols);
        Model::from_bytes(&blob).unwrap();
        let tried = all_refused(&blob, |entry| {
            let fc2 = entry.role == Role::Fc2 as u8;
            assert!(!fc2 || entry.dtype == dtype::I8 && entry.cols as usize == cols);
            entry.dtype = dtype::I8_PAIRS;
            fc2
        });
        assert_eq!(tried, 2, "{cols} columns");
    }
}
