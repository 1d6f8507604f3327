#pragma once

#include "core/matrix.h"

namespace attn {

/// gelu: x * Phi(x) with the exact erf (Hendrycks & Gimpel 2016, arXiv:1606.08415, eq. 1);
/// gelu_tanh: its tanh form, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (same paper, eq. 2);
/// relu: max(x, 0); silu: x / (1 + exp(-x)), the gate of SwiGLU (Shazeer 2020, arXiv:2002.05202).
enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

/// y = f(x), element by element.
template <class T>
void activate(Activation f, In<T> x, Matrix<T> y);

/// The same, and slope = f'(x), which may take the place of x. relu's derivative at 0 is 0.
template <class T>
void activate_with_slope(Activation f, In<T> x, Matrix<T> y, Matrix<T> slope);

/// y = silu(gate) * up (Shazeer 2020, eq. 6).
template <class T>
void swiglu(In<T> gate, In<T> up, Matrix<T> y);

/// d_gate += d_y * up * silu'(gate); d_up += d_y * silu(gate).
template <class T>
void swiglu_backward(In<T> gate, In<T> up, In<T> d_y, Matrix<T> d_gate, Matrix<T> d_up);

}  // namespace attn
