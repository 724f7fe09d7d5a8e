//! The same with all that `Translator::translate` does for text as people type it.
#![no_std]
#![no_main]

minimal::firmware!(|translator, text| translator.translate(black_box(PHRASE), text));
