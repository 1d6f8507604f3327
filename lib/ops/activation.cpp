#include "ops/activation.h"

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// A function and its derivative at x, which share most of their work: what is not used costs
// nothing.
template <class V>
struct Point {
  V value;
  V slope;
};

struct Gelu {
  template <class V>
  HWY_INLINE Point<V> at(V x) const {
    const Normal<V> at = normal(x);
    return {hn::Mul(x, at.cdf), hn::MulAdd(x, at.density, at.cdf)};
  }
};

// 0.5 (1 + tanh u) is the logistic function of 2u.
struct GeluTanh {
  static constexpr double kScale = 2 * 0.79788456080286535588;  // 2 sqrt(2/pi)
  static constexpr double kCubic = 0.044715;

  // Beyond 30 the function is 0 or x; x^3 must not overflow there.
  template <class V>
  HWY_INLINE V near(V x) const {
    const hn::DFromV<V> d;
    const V bound = hn::Set(d, hn::TFromV<V>{30});
    return hn::IfThenElse(hn::Gt(hn::Abs(x), bound), hn::CopySignToAbs(bound, x), x);
  }
  template <class V>
  HWY_INLINE V gate(V x) const {
    using T = hn::TFromV<V>;
    const hn::DFromV<V> d;
    const V scale = hn::Set(d, static_cast<T>(kScale));
    const V cubic = hn::Set(d, static_cast<T>(kScale * kCubic));
    return sigmoid(hn::Mul(x, hn::MulAdd(cubic, hn::Mul(x, x), scale)));
  }
  template <class V>
  HWY_INLINE Point<V> at(V x) const {
    using T = hn::TFromV<V>;
    const hn::DFromV<V> d;
    const V at = near(x);
    const V s = gate(at);
    const V slope = hn::MulAdd(hn::Set(d, static_cast<T>(3 * kScale * kCubic)), hn::Mul(at, at),
                               hn::Set(d, static_cast<T>(kScale)));
    const V rest = hn::NegMulAdd(s, s, s);  // s (1 - s)
    return {hn::Mul(x, s), hn::MulAdd(hn::Mul(at, slope), rest, s)};
  }
};

struct Relu {
  template <class V>
  HWY_INLINE Point<V> at(V x) const {
    const hn::DFromV<V> d;
    return {hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x),  // keeps a NaN
            hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, hn::TFromV<V>{1}))};
  }
};

struct Silu {
  template <class V>
  HWY_INLINE Point<V> at(V x) const {
    const V s = sigmoid(x);
    return {hn::Mul(x, s), hn::MulAdd(x, hn::NegMulAdd(s, s, s), s)};
  }
};

template <class F>
HWY_INLINE void with_activation(Activation f, const F& use) {
  switch (f) {
    case Activation::kGelu:
      return use(Gelu());
    case Activation::kGeluTanh:
      return use(GeluTanh());
    case Activation::kRelu:
      return use(Relu());
    case Activation::kSilu:
      return use(Silu());
  }
}

template <class T>
void forward_rows(Activation f, Matrix<const T> x, Matrix<T> y) {
  with_activation(f, [&](auto op) HWY_ATTR {
    for (Index i = 0; i < y.rows(); ++i) {
      transform<T>(
          y.cols(), y.row(i), [op](auto v) HWY_ATTR { return op.at(v).value; }, x.row(i));
    }
  });
}

template <class T>
void rows_and_slopes(Activation f, Matrix<const T> x, Matrix<T> y, Matrix<T> slope) {
  with_activation(f, [&](auto op) HWY_ATTR {
    for (Index r = 0; r < y.rows(); ++r) {
      for_vectors<T>(y.cols(), [&](auto whole, Index i, Index n) HWY_ATTR {
        constexpr bool kWhole = decltype(whole)::value;
        const auto point = op.at(load<kWhole>(x.row(r) + i, n));
        store<kWhole>(point.value, y.row(r) + i, n);
        store<kWhole>(point.slope, slope.row(r) + i, n);
      });
    }
  });
}

template <class T>
void swiglu_rows(Matrix<const T> gate, Matrix<const T> up, Matrix<T> y) {
  const auto product = [](auto g, auto u) HWY_ATTR { return hn::Mul(Silu().at(g).value, u); };
  for (Index i = 0; i < y.rows(); ++i) {
    transform<T>(y.cols(), y.row(i), product, gate.row(i), up.row(i));
  }
}

template <class T>
void swiglu_backward_rows(Matrix<const T> gate, Matrix<const T> up, Matrix<const T> d_y,
                          Matrix<T> d_gate, Matrix<T> d_up) {
  const auto to_gate = [](auto g, auto u, auto d_at, auto sum) HWY_ATTR {
    return hn::MulAdd(hn::Mul(d_at, u), Silu().at(g).slope, sum);
  };
  const auto to_up = [](auto g, auto d_at, auto sum)
                         HWY_ATTR { return hn::MulAdd(d_at, Silu().at(g).value, sum); };
  for (Index i = 0; i < d_gate.rows(); ++i) {
    transform<T>(d_gate.cols(), d_gate.row(i), to_gate, gate.row(i), up.row(i), d_y.row(i),
                 d_gate.row(i));
    transform<T>(d_up.cols(), d_up.row(i), to_up, gate.row(i), d_y.row(i), d_up.row(i));
  }
}

ATTNTOOLS_BOTH_TYPES(forward_rows);
ATTNTOOLS_BOTH_TYPES(rows_and_slopes);
ATTNTOOLS_BOTH_TYPES(swiglu_rows);
ATTNTOOLS_BOTH_TYPES(swiglu_backward_rows);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(forward_rows);
ATTNTOOLS_EXPORT(rows_and_slopes);
ATTNTOOLS_EXPORT(swiglu_rows);
ATTNTOOLS_EXPORT(swiglu_backward_rows);

template <class T>
void require_same(In<T> x, Matrix<T> y, const char* what) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), what);
}

}  // namespace

template <class T>
void activate(Activation f, In<T> x, Matrix<T> y) {
  require_same<T>(x, y, "activate: the shapes differ");
  ATTNTOOLS_DISPATCH(T, forward_rows)(f, x, y);
}

template <class T>
void activate_with_slope(Activation f, In<T> x, Matrix<T> y, Matrix<T> slope) {
  require_same<T>(x, y, "activate_with_slope: the shapes differ");
  require_same<T>(x, slope, "activate_with_slope: the shapes differ");
  ATTNTOOLS_DISPATCH(T, rows_and_slopes)(f, x, y, slope);
}

template <class T>
void swiglu(In<T> gate, In<T> up, Matrix<T> y) {
  require_same<T>(gate, y, "swiglu: the shapes differ");
  require_same<T>(up, y, "swiglu: the shapes differ");
  ATTNTOOLS_DISPATCH(T, swiglu_rows)(gate, up, y);
}

template <class T>
void swiglu_backward(In<T> gate, In<T> up, In<T> d_y, Matrix<T> d_gate, Matrix<T> d_up) {
  require_same<T>(gate, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(up, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(d_y, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(d_y, d_up, "swiglu_backward: the shapes differ");
  ATTNTOOLS_DISPATCH(T, swiglu_backward_rows)(gate, up, d_y, d_gate, d_up);
}

template void activate<float>(Activation, In<float>, Matrix<float>);
template void activate<double>(Activation, In<double>, Matrix<double>);
template void activate_with_slope<float>(Activation, In<float>, Matrix<float>, Matrix<float>);
template void activate_with_slope<double>(Activation, In<double>, Matrix<double>, Matrix<double>);
template void swiglu<float>(In<float>, In<float>, Matrix<float>);
template void swiglu<double>(In<double>, In<double>, Matrix<double>);
template void swiglu_backward<float>(In<float>, In<float>, In<float>, Matrix<float>, Matrix<float>);
template void swiglu_backward<double>(In<double>, In<double>, In<double>, Matrix<double>,
                                      Matrix<double>);

}  // namespace attn
#endif  // HWY_ONCE
