//! Fixed-size little-endian records: one declaration gives the offsets, the reader, the writer and the
//! documentation table, so that none of them can disagree.

/// One field of a record, for the generated table in `docs/blob-format.md`.
#[derive(Clone, Copy, Debug)]
pub struct FieldDoc {
    /// Field name.
    pub name: &'static str,
    /// Primitive type, little-endian.
    pub ty: &'static str,
    /// Byte offset from the start of the record.
    pub at: usize,
    /// What the field holds.
    pub doc: &'static str,
}

/// One record of the format, for the generated table in `docs/blob-format.md`.
#[derive(Clone, Copy, Debug)]
pub struct RecordDoc {
    /// Record name.
    pub name: &'static str,
    /// What the record is.
    pub doc: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Fields in order of offset.
    pub fields: &'static [FieldDoc],
}

/// The `N` bytes at `at`, or `None` where the slice is too short.
pub(crate) const fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    match bytes.split_at_checked(at) {
        Some((_, tail)) => tail.first_chunk::<N>(),
        None => None,
    }
}

macro_rules! le_read {
    (u8, $b:ident, $at:expr) => {
        $b[$at]
    };
    (i8, $b:ident, $at:expr) => {
        $b[$at] as i8
    };
    (u16, $b:ident, $at:expr) => {
        u16::from_le_bytes([$b[$at], $b[$at + 1]])
    };
    (u32, $b:ident, $at:expr) => {
        u32::from_le_bytes([$b[$at], $b[$at + 1], $b[$at + 2], $b[$at + 3]])
    };
    (i32, $b:ident, $at:expr) => {
        i32::from_le_bytes([$b[$at], $b[$at + 1], $b[$at + 2], $b[$at + 3]])
    };
    (u64, $b:ident, $at:expr) => {
        u64::from_le_bytes([
            $b[$at],
            $b[$at + 1],
            $b[$at + 2],
            $b[$at + 3],
            $b[$at + 4],
            $b[$at + 5],
            $b[$at + 6],
            $b[$at + 7],
        ])
    };
}
pub(crate) use le_read;

/// Declares a record: `record! { /// doc  pub struct Name[SIZE] { /// doc  field: u16 @ 0, ... } }`.
///
/// Fields must be given in order and without holes; a `const` assertion checks it.
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident[$size:literal] {
            $( $(#[doc = $fdoc:literal])* $field:ident : $ty:ident @ $at:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $fdoc])* pub $field: $ty, )*
        }

        impl $name {
            /// Size in bytes.
            pub const SIZE: usize = $size;

            /// Name, size and fields, for the generated format table.
            pub const DOC: $crate::blob::record::RecordDoc = $crate::blob::record::RecordDoc {
                name: stringify!($name),
                doc: concat!($($doc),*),
                size: $size,
                fields: &[ $( $crate::blob::record::FieldDoc {
                    name: stringify!($field), ty: stringify!($ty), at: $at, doc: concat!($($fdoc),*),
                }, )* ],
            };

            /// The record at byte `at`, or `None` where the slice ends before it does.
            pub const fn read(bytes: &[u8], at: usize) -> Option<Self> {
                match $crate::blob::record::chunk::<$size>(bytes, at) {
                    Some(b) => Some(Self { $( $field: $crate::blob::record::le_read!($ty, b, $at), )* }),
                    None => None,
                }
            }

            /// Writes the record at byte `at`, or `None` where the slice ends before it does.
            pub fn write(&self, out: &mut [u8], at: usize) -> Option<()> {
                let out = out.get_mut(at..)?.first_chunk_mut::<$size>()?;
                $( out[$at..$at + core::mem::size_of::<$ty>()].copy_from_slice(&self.$field.to_le_bytes()); )*
                Some(())
            }
        }

        const _: () = {
            let mut end = 0;
            $( assert!($at == end, "fields leave no hole and do not overlap"); end += core::mem::size_of::<$ty>(); )*
            assert!(end == $size, "fields fill the record");
        };
    };
}
pub(crate) use record;

#[cfg(test)]
mod tests {
    record! {
        /// A test record.
        pub struct Sample[8] {
            /// One.
            one: u8 @ 0,
            /// Two.
            two: i8 @ 1,
            /// Three.
            three: u16 @ 2,
            /// Four.
            four: i32 @ 4,
        }
    }

    #[test]
    fn writes_what_it_reads() {
        let sample = Sample { one: 1, two: -2, three: 0x1234, four: -5 };
        let mut bytes = [0u8; 10];
        sample.write(&mut bytes, 2).unwrap();
        assert_eq!(bytes, [0, 0, 1, 0xfe, 0x34, 0x12, 0xfb, 0xff, 0xff, 0xff]);
        assert_eq!(Sample::read(&bytes, 2), Some(sample));
        assert_eq!(Sample::read(&bytes, 3), None);
        assert_eq!(Sample::read(&bytes, usize::MAX), None);
        assert_eq!(sample.write(&mut bytes, 3), None);
        assert_eq!((Sample::SIZE, Sample::DOC.fields.len(), Sample::DOC.fields[2].at), (8, 4, 2));
    }
}
