#include "model/import/hf_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace attn {

bool is_harmless_hf_key(std::string_view key) {
  static const std::set<std::string_view> harmless = {
      // names and bookkeeping
      "_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "architectures",
      "attn_implementation", "dtype", "finetuning_task", "id2label", "label2id", "model_type",
      "name_or_path", "problem_type", "task_specific_params", "tokenizer_class", "torch_dtype",
      "torchscript", "transformers_version", "use_bfloat16",
      // training alone
      "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "dropout", "embd_pdrop",
      "embedding_dropout", "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob",
      "initializer_factor", "initializer_range", "mlp_dropout", "resid_pdrop", "residual_dropout",
      "chunk_size_feed_forward", "pretraining_tp", "use_cache", "tie_encoder_decoder",
      // heads for other tasks
      "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
      "summary_use_proj", "classifier_dropout", "num_labels",
      // outputs
      "output_attentions", "output_hidden_states", "output_scores", "return_dict",
      "return_dict_in_generate", "remove_invalid_values",
      // generation
      "bad_words_ids", "begin_suppress_tokens", "decoder_start_token_id", "diversity_penalty",
      "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
      "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
      "is_decoder", "length_penalty", "max_length", "max_new_tokens", "min_length",
      "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "prefix",
      "repetition_penalty", "sep_token_id", "suppress_tokens", "temperature", "tf_legacy_loss",
      "top_k", "top_p", "typical_p", "bos_token_id", "cls_token_id", "mask_token_id",
      "unk_token_id",
      // lengths that bound nothing here
      "n_ctx", "max_window_layers", "original_max_position_embeddings"};
  return harmless.count(key) == 1;
}

bool sounds_like_mathematics(std::string_view key) {
  for (const std::string_view word :
       {"act",      "alibi",   "attention", "attn",     "bias",     "block",  "clip",    "config",
        "conv",     "cross",   "embed",     "encode",   "expert",   "factor", "head",    "hidden",
        "kv",       "layer",   "logit",     "lora",     "mamba",    "mask",   "mlp",     "moe",
        "mtp",      "multipl", "norm",      "parallel", "position", "qk",     "quant",   "query",
        "residual", "rope",    "rotary",    "router",   "scal",     "shared", "softcap", "sparse",
        "ssm",      "state",   "theta",     "window"}) {
    if (key.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool is_off(const nlohmann::json& value) {
  if (value.is_null() || value == false) return true;
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_array()) {
    return std::all_of(value.begin(), value.end(),
                       [](const nlohmann::json& one) { return one == "full_attention"; });
  }
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.is_object() && value.empty();
}

}  // namespace attn
