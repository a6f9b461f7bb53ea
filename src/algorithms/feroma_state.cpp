#include "algorithms/feroma_state.h"

namespace feroma {

void save(const FeromaState& state, const ProfileShape& shape, ModelWriter& out) {
  ArchiveWriter& archive = out.out();
  out.put(state.global);
  out.put(state.global_before);
  archive.put<std::int32_t>(state.warmup_end.value_or(-1));
  archive.put(state.warmup_accuracy);
  archive.put(state.latent_max);
  out.put(state.equipment.extractor.encoder);
  archive.put(state.equipment.extractor.projector.components);
  archive.put(state.equipment.extractor.projector.centre);
  archive.put<std::uint64_t>(state.scaler.blocks.size());
  for (const auto& block : state.scaler.blocks) {
    archive.put<std::uint64_t>(block.begin);
    archive.put<std::uint64_t>(block.size);
    archive.put(block.min);
    archive.put(block.factor);
  }
  const std::vector<ClientId> equipped(state.equipment.holders.begin(), state.equipment.holders.end());
  archive.put(equipped);
  archive.put<std::uint64_t>(state.parents.size());
  for (const Parent& parent : state.parents) {
    archive.put(parent.client);
    out.put(parent.model);
    archive.put(encode(parent.profile, shape));
    archive.put(parent.profile.num_samples);
    archive.put(parent.profile.added_noise);
    archive.put(parent.num_examples);
    archive.put<std::int32_t>(parent.round);
    archive.put(parent.held_out);
    out.put(parent.mixture);
  }
  archive.put(state.budget_spent);
}

FeromaState load_feroma_state(const ProfileShape& shape, int width, ModelReader& in) {
  FeromaState state;
  ArchiveReader& archive = in.in();
  state.global = in.get_model();
  state.global_before = in.get_model();
  const auto warmup_end = archive.get<std::int32_t>();
  state.warmup_end = warmup_end < 0 ? std::nullopt : std::optional<Round>(warmup_end);
  state.warmup_accuracy = archive.get_vector<double>();
  state.latent_max = archive.get<double>();
  state.equipment.extractor.encoder = in.get_model();
  state.equipment.extractor.projector.components = archive.get_vector<float>();
  state.equipment.extractor.projector.centre = archive.get_vector<float>();
  state.equipment.extractor.projector.input = width;
  state.equipment.extractor.projector.output = shape.conditional;
  const auto blocks = archive.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    BlockScaler::Block block;
    block.begin = archive.get<std::uint64_t>();
    block.size = archive.get<std::uint64_t>();
    block.min = archive.get<double>();
    block.factor = archive.get<double>();
    state.scaler.blocks.push_back(block);
  }
  const auto equipped = archive.get_vector<ClientId>();
  state.equipment.holders = {equipped.begin(), equipped.end()};
  const auto parents = archive.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < parents; ++i) {
    Parent parent;
    parent.client = archive.get<ClientId>();
    parent.model = in.get_model();
    const auto values = archive.get_vector<float>();
    const auto samples = archive.get<std::int64_t>();
    parent.profile = decode(values, shape, samples);
    parent.profile.added_noise = archive.get_vector<float>();
    parent.num_examples = archive.get<std::int64_t>();
    parent.round = archive.get<std::int32_t>();
    parent.held_out = archive.get<double>();
    parent.mixture = in.get_model();
    state.parents.push_back(std::move(parent));
  }
  state.budget_spent = archive.get<bool>();
  return state;
}

}  // namespace feroma
