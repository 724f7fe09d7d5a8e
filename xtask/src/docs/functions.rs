//! Errors of elementary functions against f64, for `docs/numerics.md`.

use latimer::num::{exp2_neg, exp2_parts, quarter_turn, rsqrt, sine, sine_cosine};
use micromath::F32Ext;

use super::Parts;
use crate::generated::table;

/// Every generated part.
pub fn parts() -> Parts {
    vec![("integer-functions", integer()), ("float-functions", float())]
}

/// Largest and mean error over some arguments.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    largest: f64,
    sum: f64,
    count: u32,
}

impl Errors {
    fn of(errors: impl Iterator<Item = f64>) -> Self {
        errors.fold(Self::default(), |e, x| Errors {
            largest: e.largest.max(x.abs()),
            sum: e.sum + x.abs(),
            count: e.count + 1,
        })
    }

    fn cells(self) -> [String; 2] {
        [format!("{:.1e}", self.largest), format!("{:.1e}", self.sum / f64::from(self.count))]
    }
}

fn rows<const N: usize>(rows: [(&str, &str, &str, Errors); N]) -> String {
    let row = |(function, arguments, kind, errors): (&str, &str, &str, Errors)| {
        let [largest, mean] = errors.cells();
        [function.to_owned(), arguments.to_owned(), kind.to_owned(), largest, mean]
    };
    table(&["function", "arguments", "error", "largest", "mean"], rows.map(row))
}

fn integer() -> String {
    let exp2 =
        (-31 << 16..=0).step_by(7).map(|x| f64::from(exp2_neg(x)) / 2f64.powi(30) - (f64::from(x) / 65536.0).exp2());
    // The fraction alone decides a mantissa: one octave has all of them.
    let parts = (0..1 << 16).map(|x| {
        let (mantissa, whole) = exp2_parts(x);
        f64::from(mantissa) * 2f64.powi(-30 - whole as i32) * (f64::from(x) / 65536.0).exp2() - 1.0
    });
    let sines = (0..1u32 << 20).map(|i| {
        let phase = i << 12;
        f64::from(sine(phase)) / 2f64.powi(30) - (f64::from(phase) / 2f64.powi(32) * std::f64::consts::TAU).sin()
    });
    let cosine = (0..1u32 << 20).map(|i| {
        let phase = i << 12;
        let exact = (f64::from(phase) / 2f64.powi(32) * std::f64::consts::TAU).cos();
        f64::from(sine(phase.wrapping_add(quarter_turn()))) / 2f64.powi(30) - exact
    });
    let both = (0..1u32 << 20).flat_map(|i| {
        let phase = i << 12;
        let angle = f64::from(phase) / 2f64.powi(32) * std::f64::consts::TAU;
        let (sin, cos) = sine_cosine(phase);
        [(sin, angle.sin()), (cos, angle.cos())].map(|(got, exact)| f64::from(got) / 2f64.powi(30) - exact)
    });
    let root = (0..62 * 64).map(|i| {
        let v = 2f64.powf(f64::from(i) / 64.0) as u64;
        let r = rsqrt(v);
        f64::from(r.mantissa) * 2f64.powi(-r.shift) * (v as f64).sqrt() - 1.0
    });
    rows([
        ("`exp2_neg`", "-31 to 0, step 7 * 2^-16", "absolute", Errors::of(exp2)),
        ("`exp2_parts`", "0 to 1, step 2^-16", "relative", Errors::of(parts)),
        ("`sine`", "2^20 phases of a turn", "absolute", Errors::of(sines)),
        ("`sine`, a quarter turn on", "2^20 phases of a turn", "absolute", Errors::of(cosine)),
        ("`sine_cosine`, both", "2^20 phases of a turn", "absolute", Errors::of(both)),
        ("`rsqrt`", "1 to 2^62, 64 an octave", "relative", Errors::of(root)),
    ])
}

/// The f16 engine's two choices, on arguments that softmax and layer norm have.
fn float() -> String {
    let negative = || (0..20_000).map(|i| -(i as f32) * 1e-3);
    let variances = || (0..64 * 40).map(|i| 2f32.powf(i as f32 / 64.0 - 20.0));
    let exp = |f: fn(f32) -> f32| Errors::of(negative().map(|x| f64::from(f(x)) / f64::from(x).exp() - 1.0));
    let root = |f: fn(f32) -> f32| Errors::of(variances().map(|x| f64::from(f(x)) * f64::from(x).sqrt() - 1.0));
    rows([
        ("exp, `libm`", "-20 to 0, step 0.001", "relative", exp(libm::expf)),
        ("exp, `micromath`", "-20 to 0, step 0.001", "relative", exp(F32Ext::exp)),
        ("1/sqrt, `libm`", "2^-20 to 2^20, 64 an octave", "relative", root(|x| 1.0 / libm::sqrtf(x))),
        ("1/sqrt, `micromath`", "2^-20 to 2^20, 64 an octave", "relative", root(F32Ext::invsqrt)),
    ])
}
