#include "nn/attention.h"

namespace attn {
namespace {

std::string joined(const std::string& name, const char* part) {
  return name.empty() ? part : name + "." + part;
}

void check(const AttentionConfig& config) {
  require_shape(
      config.dim >= 1 && config.heads >= 1 && config.kv_heads >= 1 && config.head_dim >= 1,
      "attention: counts below 1");
  require_shape(config.heads % config.kv_heads == 0, "attention: kv_heads must divide heads");
  require_shape(config.window == 0 || (config.window > 0 && config.causal && !config.cross),
                "attention: a window is of causal self-attention");
}

}  // namespace

template <class T>
Attention<T>::Attention(ParamStore<T>& store, const std::string& name,
                        const AttentionConfig& config, std::shared_ptr<const Rotary<T>> rotary)
    : name_(name),
      config_((check(config), config)),
      shape_{config.heads, config.kv_heads, config.head_dim, config.head_dim},
      q_proj_(store, joined(name, "q_proj"), config.dim, config.heads * config.head_dim,
              config.bias),
      k_proj_(store, joined(name, "k_proj"), config.dim, config.kv_heads * config.head_dim,
              config.bias),
      v_proj_(store, joined(name, "v_proj"), config.dim, config.kv_heads * config.head_dim,
              config.bias),
      out_proj_(store, joined(name, "out_proj"), config.heads * config.head_dim, config.dim,
                config.out_bias, config.residual_additions) {
  if (config.cross) return;  // positions act in self-attention only
  if (config.rope_base > 0) {
    rotary_ = rotary ? std::move(rotary)
                     : std::make_shared<const Rotary<T>>(config.head_dim, config.rope_base,
                                                         config.rope_pairs, config.rope_scaling);
  }
  if (config.alibi) {
    for (const double slope : alibi_slopes(config.heads)) slopes_.push_back(static_cast<T>(slope));
  }
}

template <class T>
AttendMask<T> Attention<T>::mask(const Sequences& source_rows, Index sequence, Index offset,
                                 const DropoutStream* dropout, Index first_row) const {
  AttendMask<T> mask;
  mask.causal = config_.causal && !config_.cross;
  mask.offset = offset;
  if (config_.window > 0) mask.window_left = config_.window - 1;
  mask.alibi_slopes = slopes_.empty() ? nullptr : slopes_.data();
  if (source_rows.key_mask != nullptr) {
    mask.allowed.data = source_rows.key_mask + sequence * source_rows.seq_len;
    mask.allowed.col_stride = 1;
  }
  if (dropout != nullptr) {
    mask.dropout = dropout->mask(q_proj_.weight(), sequence);
    mask.dropout.first_row = first_row;
  }
  return mask;
}

template <class T>
std::optional<ShortAttention<T>> Attention<T>::short_call(const Sequences& rows,
                                                          const DropoutStream* dropout) const {
  const bool all_seen = config_.window == 0 || config_.window >= rows.seq_len;
  const bool drops = dropout != nullptr && dropout->rate > 0;
  if (config_.cross || !slopes_.empty() || !all_seen || rows.key_mask != nullptr || drops) {
    return std::nullopt;
  }
  const ShortAttention<T> call{shape_, rows.batch, rows.seq_len, config_.causal};
  return call.fits() ? std::optional(call) : std::nullopt;
}

template <class T>
Matrix<T> Attention<T>::forward(const Pass<T>& pass, In<T> x, const Sequences& rows,
                                const Context<T>* context, KvSlot<T>* slot, AttentionTape<T>* tape,
                                RowsWanted wanted) const {
  require_shape(x.rows() == rows.rows() && rows.batch >= 1 && rows.seq_len >= 1,
                "attention: rows of x");
  require_shape(config_.cross == (context != nullptr),
                "attention: context without cross or vice versa");
  require_shape(slot == nullptr || (tape == nullptr && pass.dropout == nullptr),
                "attention: a tape or dropout beside a cache");
  require_shape(slot == nullptr || config_.cross || rows.key_mask == nullptr,
                "attention: a key mask beside a cache");
  require_shape(wanted == RowsWanted::kAll ||
                    (tape == nullptr && pass.dropout == nullptr && pass.probe == nullptr),
                "attention: last rows beside a tape, dropout or a probe");
  const Matrix<const T> source = config_.cross ? context->x : x;
  Sequences source_rows = config_.cross ? context->rows : rows;
  // A context is projected once, when its slot is empty; later calls need only its mask.
  const bool remembered = config_.cross && slot != nullptr && slot->length() > 0;
  require_shape(
      source_rows.batch == rows.batch && (remembered ? slot->length() == source_rows.seq_len
                                                     : source.rows() == source_rows.rows()),
      "attention: rows of the context");

  // The rows that ask, and how many of their sequence stand before the first of them.
  const bool last = wanted == RowsWanted::kLast && rows.seq_len > 1;
  const Matrix<const T> asking = last ? last_rows(x, rows) : x;
  const Sequences queries = last ? Sequences{rows.batch, 1, nullptr} : rows;
  const Index skipped = rows.seq_len - queries.seq_len;

  // The place of each sequence's first row.
  Arena& arena = pass.arena();
  const bool goes_on = slot != nullptr && !config_.cross;
  Index* pos0 = arena.template allocate<Index>(rows.batch);
  for (Index i = 0; i < rows.batch; ++i) pos0[i] = goes_on ? slot->length(i) : 0;
  const auto rotate = [&](Matrix<T> turned, Index seq_len, Index first) {
    for (Index i = 0; rotary_ && i < rows.batch; ++i) {
      rotary_->rotate(pos0[i] + first, turned.row_block(i * seq_len, seq_len));
    }
  };
  Matrix<T> q;
  Matrix<T> k;
  Matrix<T> v;
  if (!config_.cross && !last) {
    const auto all = Linear<T>::template forward_each<3>(pass, x, {&q_proj_, &k_proj_, &v_proj_});
    q = all[0];
    k = all[1];
    v = all[2];
  } else {
    q = q_proj_.forward(pass, asking);
    if (!remembered) {
      const auto both = Linear<T>::template forward_each<2>(pass, source, {&k_proj_, &v_proj_});
      k = both[0];
      v = both[1];
    }
  }
  rotate(q, queries.seq_len, skipped);
  if (!remembered) {
    if (pass.counts != nullptr) count_keys(*pass.counts, source_rows);
    rotate(k, source_rows.seq_len, 0);
    if (slot != nullptr) slot->append(k, v, source_rows);
  }
  Matrix<T> mixed = arena.template matrix<T>(asking.rows(), shape_.heads * shape_.value_dim);
  T* lse = nullptr;
  if (tape != nullptr) {
    lse = arena.template allocate<T>(x.rows() * shape_.heads);
    *tape = {x, source, rows, source_rows, q, k, v, mixed, lse};
  }
  const bool looked_at = pass.probe != nullptr && pass.probe->want_weights;
  const auto call = short_call(rows, pass.dropout);
  if (call && slot == nullptr && !looked_at && !last) {
    attend_short<T>(*call, q, k, v, mixed, lse, arena);
    return out_proj_.forward(pass, mixed);
  }
  Keys* keys = arena.template allocate<Keys>(rows.batch);
  for (Index i = 0; i < rows.batch; ++i) {
    if (slot != nullptr) {
      const Index first = slot->first(i);
      keys[i] = {slot->runs(i, arena), slot->length(i) - first, pos0[i] - first + skipped};
      continue;
    }
    const Index first = i * source_rows.seq_len;
    auto* run = arena.template allocate<KvRun<T>>(1);
    *run = {k.row_block(first, source_rows.seq_len), v.row_block(first, source_rows.seq_len)};
    keys[i] = {{run, 1}, source_rows.seq_len, skipped};
  }

  mix(pass, q, queries, source_rows, {keys, static_cast<std::size_t>(rows.batch)}, mixed, lse);
  return out_proj_.forward(pass, mixed);
}

template <class T>
void Attention<T>::count(KeyRowCounts& counts, const Sequences& rows, KvSlot<T>* slot) const {
  require_shape(!config_.cross, "attention: counting the rows of a context");
  count_keys(counts, rows);
  if (slot != nullptr) slot->take_room(rows);
}

template <class T>
void Attention<T>::backward(const BackwardPass<T>& pass, const AttentionTape<T>& tape, In<T> d_y,
                            Matrix<T> d_x, Matrix<T> d_context) const {
  const Arena::Scope scope(pass.arena);
  const Index q_len = tape.rows.seq_len;
  const Index kv_len = tape.source_rows.seq_len;
  // y = out_proj(mixed)
  const Matrix<T> d_mixed = out_proj_.backward(pass, tape.mixed, d_y);
  // mixed = softmax(scores) v, sequence by sequence; q and k turned
  Matrix<T> d_q = pass.arena.template zeros<T>(tape.q.rows(), tape.q.cols());
  Matrix<T> d_k = pass.arena.template zeros<T>(tape.k.rows(), tape.k.cols());
  Matrix<T> d_v = pass.arena.template zeros<T>(tape.v.rows(), tape.v.cols());
  const auto call = short_call(tape.rows, pass.dropout);
  if (call) {
    attend_short_backward<T>(*call, tape.q, tape.k, tape.v, tape.lse, d_mixed, d_q, d_k, d_v,
                             pass.arena);
  }
  for (Index i = 0; i < tape.rows.batch; ++i) {
    const Index row = i * q_len;
    const Index key = i * kv_len;
    if (!call) {
      attend_backward<T>(shape_, tape.q.row_block(row, q_len), tape.k.row_block(key, kv_len),
                         tape.v.row_block(key, kv_len),
                         mask(tape.source_rows, i, 0, pass.dropout, 0),
                         tape.mixed.row_block(row, q_len), tape.lse + row * shape_.heads,
                         d_mixed.row_block(row, q_len), d_q.row_block(row, q_len),
                         d_k.row_block(key, kv_len), d_v.row_block(key, kv_len), pass.arena);
    }
    if (rotary_) {
      rotary_->rotate_back(0, d_q.row_block(row, q_len));
      rotary_->rotate_back(0, d_k.row_block(key, kv_len));
    }
  }
  // q = q_proj(x); k = k_proj(source); v = v_proj(source)
  const Matrix<T> d_source = config_.cross ? d_context : d_x;
  v_proj_.backward(pass, tape.source, d_v, d_source);
  k_proj_.backward(pass, tape.source, d_k, d_source);
  q_proj_.backward(pass, tape.x, d_q, d_x);
}

template class Attention<float>;
template class Attention<double>;

}  // namespace attn
