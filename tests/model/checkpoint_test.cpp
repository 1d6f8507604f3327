#include "model/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "model/configurations.h"
#include "text/char_tokenizer.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

Hdf5Reader reader_of(Hdf5Writer& writer) {
  const Hdf5Image image = writer.finish();
  return Hdf5Reader::from_bytes({image.bytes().begin(), image.bytes().end()}, "model.h5");
}

ModelConfig tiny() {
  ModelConfig config;
  config.vocab_size = 5;
  config.dim = 8;
  config.mlp_hidden = 6;
  config.depth = 1;
  return config.completed();
}

TEST(Checkpoint, EveryConfigurationComesBack) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    Transformer<float> model(configuration.model);
    testing::scramble(model.params(), 1);
    Hdf5Writer writer;
    write_checkpoint(writer, model, nullptr, nullptr);
    const Checkpoint read = read_checkpoint(reader_of(writer));
    EXPECT_EQ(read.model->config(), model.config());
    ASSERT_EQ(read.model->params().size(), model.params().size());
    EXPECT_TRUE(std::equal(model.params().values(), model.params().values() + model.params().size(),
                           read.model->params().values()));
    EXPECT_EQ(read.tokenizer, nullptr);
    EXPECT_FALSE(read.training.has_value());
  }
}

TEST(Checkpoint, TokenizerAndTrainingComeBack) {
  Transformer<float> model(tiny());
  const auto tokenizer = CharTokenizer::from_text("abc d", "t");
  TrainingState<float> state;
  state.step = 2;
  state.losses = {2.5, 2.25};
  state.evaluations = {{0, 3.0, 0.125}, {2, 2.0, 0.5}};
  state.settings = {{"task", std::string("text")}, {"batch", Index{7}}, {"lr", 0.5}};
  for (Index i = 0; i < model.params().size(); ++i) {
    state.m.push_back(static_cast<float>(i));
    state.v.push_back(static_cast<float>(i * i));
  }
  Hdf5Writer writer;
  write_checkpoint(writer, model, tokenizer.get(), &state);
  const Hdf5Reader reader = reader_of(writer);
  const Checkpoint read = read_checkpoint(reader);
  ASSERT_TRUE(read.tokenizer);
  EXPECT_EQ(read.tokenizer->encode("dab"), tokenizer->encode("dab"));
  ASSERT_TRUE(read.training);
  EXPECT_EQ(read.training->step, 2);
  EXPECT_EQ(read.training->losses, state.losses);
  ASSERT_EQ(read.training->evaluations.size(), 2U);
  EXPECT_EQ(read.training->evaluations[1].loss, 2.0);
  EXPECT_EQ(read.training->evaluations[1].accuracy, 0.5);
  EXPECT_EQ(read.training->m, state.m);
  EXPECT_EQ(read.training->v, state.v);
  EXPECT_EQ(reader.text_attribute("/training", "task"), "text");
  EXPECT_EQ(reader.int_attribute("/training", "batch"), 7);
  EXPECT_EQ(reader.real_attribute("/training", "lr"), 0.5);
  EXPECT_EQ(reader.info("/parameters/blocks.0.attn.q_proj.weight").shape, (Shape{8, 8}));
  EXPECT_EQ(reader.info("/optimizer/m/head.bias").type, DType::kF32);
}

TrainingState<float> full_state(const Transformer<float>& model) {
  TrainingState<float> state;
  state.step = 3;
  // Numbers that no short decimal is.
  state.losses = {std::log(2.0), std::exp(1.0), std::nextafter(1.0, 2.0)};
  state.evaluations = {{.step = 0, .loss = std::sqrt(2.0), .accuracy = 1.0 / 3, .exact = 1.0 / 7},
                       {.step = 2, .loss = 1e-300, .accuracy = 0.5, .exact = 0.25},
                       {.step = 3, .loss = 1.0, .accuracy = 0.5, .exact = 0.25}};
  state.evaluations[1].sample_loss = 1.0 / 9;
  state.gradient_log.updates = {2, 3};
  for (std::size_t i = 0; i < 2 * model.params().list().size(); ++i) {
    state.gradient_log.norms.push_back(1.0 / static_cast<double>(i + 3));
  }
  for (Index i = 0; i < model.params().size(); ++i) {
    state.m.push_back(1.0F / static_cast<float>(i + 3));
    state.v.push_back(1e-40F * static_cast<float>(i));  // too small to be normal
  }
  state.settings = {
      {"task", std::string("copy")}, {"batch", Index{7}}, {"clip", 1.0}, {"digest", std::string()}};
  return state;
}

TEST(Checkpoint, AStateComesBackToTheBit) {
  Transformer<float> model(tiny());
  model.params().initialise(3);
  const TrainingState<float> state = full_state(model);
  const auto image_of = [&](const TrainingState<float>& written) {
    Hdf5Writer writer;
    write_checkpoint(writer, model, nullptr, &written);
    const Hdf5Image image = writer.finish();
    return std::vector<std::byte>(image.bytes().begin(), image.bytes().end());
  };
  const std::vector<std::byte> image = image_of(state);
  const Hdf5Reader reader = Hdf5Reader::from_bytes(image, "model.h5");
  const auto read = read_checkpoint(reader).training.value();
  EXPECT_EQ(read.step, state.step);
  EXPECT_EQ(read.losses, state.losses);
  EXPECT_EQ(read.evaluations, state.evaluations);
  EXPECT_EQ(read.gradient_log, state.gradient_log);
  EXPECT_EQ(read.m, state.m);
  EXPECT_EQ(read.v, state.v);
  // In order of name, each of its own kind: 1.0 stays a real number.
  const SettingList settings = {
      {"batch", Index{7}}, {"clip", 1.0}, {"digest", std::string()}, {"task", std::string("copy")}};
  EXPECT_EQ(read.settings, settings);
  EXPECT_TRUE(image_of(read) == image);
  // For whoever looks: the best so far, and names beside the gradients.
  EXPECT_EQ(reader.int_attribute("/training", "best_step"), 2);
  EXPECT_EQ(reader.real_attribute("/training", "best_loss"), 1e-300);
  EXPECT_TRUE(reader.has_dataset("/training/gradient_parameters"));
}

TEST(TrainingState, TheBestIsTheFirstOfTheLeast) {
  EXPECT_EQ(best_evaluation({}), nullptr);
  EXPECT_EQ(evaluations_since_best({}), 0);
  const std::vector<EvaluationPoint> points = {
      {.step = 0, .loss = 3}, {.step = 5, .loss = 1}, {.step = 9, .loss = 1}};
  EXPECT_EQ(best_evaluation(points)->step, 5);
  EXPECT_EQ(evaluations_since_best(points), 1);
}

TEST(Checkpoint, TheSameCallsGiveTheSameBytes) {
  const auto bytes = [] {
    Transformer<float> model(tiny());
    model.params().initialise(3);
    Hdf5Writer writer;
    write_checkpoint(writer, model, nullptr, nullptr);
    const Hdf5Image image = writer.finish();
    return std::vector<std::byte>(image.bytes().begin(), image.bytes().end());
  };
  EXPECT_EQ(bytes(), bytes());
}

TEST(Checkpoint, AFlippedBitIsRefusedUnlessAskedFor) {
  Transformer<float> model(tiny());
  model.params().initialise(3);
  const float first = model.params().values()[0];
  Hdf5Writer writer;
  write_checkpoint(writer, model, nullptr, nullptr);
  const Hdf5Image image = writer.finish();
  std::vector<std::byte> bytes(image.bytes().begin(), image.bytes().end());
  const auto* wanted = reinterpret_cast<const std::byte*>(&first);
  const auto at = std::search(bytes.begin(), bytes.end(), wanted, wanted + sizeof first);
  ASSERT_NE(at, bytes.end());
  *at ^= std::byte{1};
  EXPECT_THROW(read_checkpoint(Hdf5Reader::from_bytes(bytes, "model.h5")), DataError);
  ReadLimits limits;
  limits.verify_digest = false;
  const Checkpoint read = read_checkpoint(Hdf5Reader::from_bytes(bytes, "model.h5", limits));
  EXPECT_NE(read.model->params().values()[0], first);
}

// What a reader says of a file that was changed after it was written.
std::string refusal(const std::function<void(Hdf5Writer&)>& change) {
  Transformer<float> model(tiny());
  Hdf5Writer writer;
  write_checkpoint(writer, model, nullptr, nullptr);
  change(writer);
  const Hdf5Reader reader = reader_of(writer);
  try {
    read_checkpoint(reader);
  } catch (const DataError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(CheckpointReader, RefusesAbsurdAttributesByName) {
  const auto with = [](const std::string& name, const auto& value) {
    return refusal([&](Hdf5Writer& writer) { writer.attribute("/", name, value); });
  };
  EXPECT_EQ(with("heads", Index{0}), "model.h5: heads must be at least 1: got 0");
  EXPECT_EQ(with("kv_heads", Index{3}),
            "model.h5: kv_heads must divide heads: 3 does not divide 4");
  EXPECT_THAT(with("dim", Index{1000000000000}),
              HasSubstr("/parameters/tokens.weight: wanted shape (5, 1000000000000), got (5, 8)"));
  EXPECT_THAT(with("dim", Index{1} << 62), HasSubstr("the model's size leaves 63 bits"));
  EXPECT_THAT(with("depth", Index{1000000}), HasSubstr("depth 1000000 does not fit"));
  EXPECT_THAT(with("mlp_hidden", Index{1} << 40),
              HasSubstr("/parameters/blocks.0.mlp.fc1.weight: wanted shape (1099511627776, 8), got "
                        "(6, 8)"));
  EXPECT_THAT(with("vocab_size", Index{7}),
              HasSubstr("/parameters/tokens.weight: wanted shape (7, 8), got (5, 8)"));
  EXPECT_THAT(with("depth", Index{2}), HasSubstr("/parameters/blocks.1.norm1.weight is missing: "
                                                 "wanted shape (8)"));
  EXPECT_THAT(with("tie_embeddings", Index{1}),
              HasSubstr("/parameters/head.bias belongs to no part of the architecture"));
  EXPECT_THAT(with("tie_embeddings", Index{2}), HasSubstr("wanted 0 or 1, got 2"));
  EXPECT_THAT(with("activation", "gelu\x1b[1m"),
              HasSubstr("attribute activation: wanted one of gelu, gelu_tanh, relu, swiglu, got "
                        "'gelu\\x1b[1m'"));
  EXPECT_THAT(with("norm_eps", std::numeric_limits<double>::quiet_NaN()), HasSubstr("norm_eps"));
  EXPECT_THAT(with("format", "attntools-tensors"),
              HasSubstr("wanted a checkpoint, its format is 'attntools-tensors'"));
  EXPECT_EQ(refusal([](Hdf5Writer&) {}), "(accepted)");
}

TEST(CheckpointReader, RefusesAStretchThatIsNotKnownOrHasNoParameters) {
  ModelConfig config = tiny();
  config.position = Position::kRope;
  config.rope_scaling.kind = RopeScalingKind::kLlama3;
  config.rope_scaling.factor = 8;
  config.rope_scaling.original_max_positions = 64;
  const auto refusal = [&](const std::string& name, const auto& value) -> std::string {
    Transformer<float> model(config);
    Hdf5Writer writer;
    write_checkpoint(writer, model, nullptr, nullptr);
    writer.attribute("/", name, value);
    try {
      read_model_config(reader_of(writer));
    } catch (const DataError& error) {
      return error.what();
    }
    return "(accepted)";
  };
  EXPECT_EQ(refusal("rope_factor", 8.0), "(accepted)");
  EXPECT_EQ(refusal("rope_scaling", "spiral\x1b"),
            "model.h5: attribute rope_scaling: 'spiral\\x1b' is not known");
  EXPECT_THAT(refusal("rope_factor", -1.0), HasSubstr("llama3 needs a factor above 0"));
  EXPECT_THAT(refusal("rope_original_max_positions", Index{0}), HasSubstr("llama3 needs"));
  EXPECT_THAT(refusal("rope_factor", std::numeric_limits<double>::quiet_NaN()),
              HasSubstr("llama3 needs a factor above 0"));
}

TEST(CheckpointReader, RefusesAFileWithoutArchitectureOrParameters) {
  Hdf5Writer empty;
  empty.dataset<float>("/x", Shape{1}, std::vector<float>{1}.data());
  try {
    read_checkpoint(reader_of(empty));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "model.h5: the architecture's attribute arch is missing");
  }
}

TEST(CheckpointReader, NamesTheNumberThatIsNotFinite) {
  Transformer<float> model(tiny());
  const ParamInfo* info = model.params().find("blocks.0.attn.k_proj.bias");
  model.params().values()[info->place.offset + 3] = std::nanf("");
  Hdf5Writer writer;
  write_checkpoint(writer, model, nullptr, nullptr);
  try {
    read_checkpoint(reader_of(writer));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(
        error.what(),
        "model.h5: /parameters/blocks.0.attn.k_proj.bias: wanted finite numbers, element 3 "
        "is nan");
  }
}

TEST(CheckpointReader, RefusesATokenizerOfAnotherModel) {
  Transformer<float> model(tiny());
  const auto tokenizer = CharTokenizer::from_text("abc", "t");
  Hdf5Writer writer;
  write_checkpoint(writer, model, tokenizer.get(), nullptr);
  try {
    read_checkpoint(reader_of(writer));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "model.h5: /tokenizer has 3 tokens, the model 5");
  }
}

TEST(CheckpointReader, RefusesATrainingStateThatDoesNotFit) {
  const auto refused = [](const std::function<void(Hdf5Writer&)>& change) {
    return refusal([&](Hdf5Writer& writer) {
      writer.group("/training");
      writer.attribute("/training", "step", 2);
      change(writer);
    });
  };
  EXPECT_THAT(refused([](Hdf5Writer&) {}), HasSubstr("/training/losses is missing"));
  const std::vector<double> three = {1, 2, 3};
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{3}, three.data());
              }),
              HasSubstr("/training/losses: wanted shape (2), got (3)"));
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{2}, three.data());
                writer.group("/optimizer");
              }),
              HasSubstr("/optimizer/m/tokens.weight is missing: wanted shape (5, 8)"));
  const std::vector<Index> beyond = {1, 3};
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{2}, three.data());
                writer.dataset("/training/evaluation_steps", Shape{2}, beyond.data());
              }),
              HasSubstr("/training/evaluation_steps: wanted rising numbers up to the step 2, "
                        "got 3"));
  const std::vector<Index> twice = {1, 1};
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{2}, three.data());
                writer.dataset("/training/evaluation_steps", Shape{2}, twice.data());
              }),
              HasSubstr("/training/evaluation_steps: wanted rising numbers up to the step 2, "
                        "got 1"));
  const std::vector<double> no_number = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{2}, no_number.data());
              }),
              HasSubstr("/training/losses: wanted finite numbers, element 1 is nan"));
  const std::vector<Index> one = {1};
  EXPECT_THAT(refused([&](Hdf5Writer& writer) {
                writer.dataset("/training/losses", Shape{2}, three.data());
                writer.dataset("/training/gradient_updates", Shape{1}, one.data());
                writer.dataset("/training/gradient_norms", Shape{1, 3}, three.data());
              }),
              HasSubstr("/training/gradient_norms: wanted shape (1, 21), got (1, 3)"));
  EXPECT_THAT(refused([](Hdf5Writer& writer) { writer.attribute("/training", "step", -1); }),
              HasSubstr("wanted an attribute step of at least 0, got -1"));
}

}  // namespace
}  // namespace attn
