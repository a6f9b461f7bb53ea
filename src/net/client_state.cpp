#include "net/client_state.h"

#include <fcntl.h>

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/privacy/witness.h"
#include "feroma/store/checkpoint.h"

namespace feroma::net {
namespace {

constexpr const char* kFile = "client.state";
/// Held while a client runs; it holds a line once there was a state here, as nothing else in a folder says that.
constexpr const char* kLock = "lock";
constexpr std::string_view kBegun = "begun\n";

void mark_as_begun(detail::PosixFile& lock) {
  if (lock.size() == 0) {
    lock.write_all(std::as_bytes(std::span(kBegun)));
    lock.sync();
  }
}

void put(ModelWriter& out, const ClientMemory& memory) {
  out.put(memory.state);
  out.out().put<std::int32_t>(memory.window);
}

ClientMemory get_memory(ModelReader& in) {
  ClientMemory memory;
  memory.state = in.get_message();
  memory.window = in.in().get<std::int32_t>();
  return memory;
}

void put(ArchiveWriter& out, const Tally& tally) {
  out.put(tally.loss_sum);
  out.put(tally.correct);
  out.put(tally.count);
  out.put(tally.auroc.has_value());
  out.put(tally.auroc.value_or(0));
}

Tally get_tally(ArchiveReader& in) {
  Tally tally;
  tally.loss_sum = in.get<double>();
  tally.correct = in.get<std::int64_t>();
  tally.count = in.get<std::int64_t>();
  const bool has_auroc = in.get<bool>();
  const auto auroc = in.get<double>();
  tally.auroc = has_auroc ? std::optional(auroc) : std::nullopt;
  return tally;
}

void put(ModelWriter& out, const TakenStep& step) {
  ArchiveWriter& archive = out.out();
  archive.put<std::int32_t>(step.round);
  archive.put<std::int32_t>(step.phase);
  archive.put(std::string_view(step.task));
  archive.put(step.answer);
  archive.put(std::string_view(step.failed));
  archive.put(step.report.num_examples);
  archive.put(step.report.train_loss);
  put(archive, step.report.before);
  put(archive, step.report.after);
  put(out, step.after);
}

TakenStep get_step(ModelReader& in) {
  TakenStep step;
  ArchiveReader& archive = in.in();
  step.round = archive.get<std::int32_t>();
  step.phase = archive.get<std::int32_t>();
  step.task = archive.get_string();
  step.answer = archive.get_vector<std::byte>();
  step.failed = archive.get_string();
  step.report.num_examples = archive.get<std::int64_t>();
  step.report.train_loss = archive.get<double>();
  step.report.before = get_tally(archive);
  step.report.after = get_tally(archive);
  step.after = get_memory(in);
  return step;
}

/// What was committed, or an error that says what to do about it.
Bytes read_state(const std::filesystem::path& file) {
  try {
    return read_checkpoint(file);
  } catch (const Error& error) {
    fail(error.code(),
         "{}; restore it from a backup that is as new, or move it aside, leave the rest of its folder there, and this "
         "client goes on as one that is new",
         error.what());
  }
}

}  // namespace

detail::PosixFile hold_state_folder(const std::filesystem::path& folder) {
  make_writable_folder(folder);
  warn_if_open_to_others(folder);
  detail::PosixFile lock(folder / kLock, O_RDWR | O_CREAT);
  require(lock.try_lock(), ErrorCode::invalid_config, "{}: another client is running with this state folder",
          folder.string());
  if (has_checkpoint(folder / kFile)) {
    mark_as_begun(lock);  // earlier versions did not
  } else if (lock.size() > 0) {
    log::warning("{}: is not there, though there was one before; this client begins as one that is new",
                 (folder / kFile).string());
  }
  return lock;
}

ClientState::Summary ClientState::peek(const std::filesystem::path& folder) {
  if (!has_checkpoint(folder / kFile)) {
    return {};
  }
  const Bytes bytes = read_state(folder / kFile);
  ArchiveReader in(bytes, (folder / kFile).string());
  Summary summary;
  summary.job = in.get_string();
  summary.committed = in.get<std::int32_t>();
  summary.remembers = in.get<bool>();
  return summary;
}

ClientState::ClientState(const std::filesystem::path& folder, std::shared_ptr<const ParamLayout> layout,
                         const std::string& job, ClientId id)
    : file_(folder / kFile), layout_(std::move(layout)), job_(job), id_(id) {
  make_writable_folder(folder);
  if (!has_checkpoint(file_)) {
    write();
    detail::PosixFile lock(folder / kLock, O_RDWR | O_CREAT);
    mark_as_begun(lock);
    return;
  }
  const Bytes bytes = read_state(file_);
  ArchiveReader archive(bytes, file_.string());
  const std::string found = archive.get_string();
  require(found == job, ErrorCode::invalid_data, "{}: is the state of a client of federation {}, this one is {}",
          file_.string(), found, job);
  committed_ = archive.get<std::int32_t>();
  static_cast<void>(archive.get<bool>());  // what follows says it too
  ModelReader in(archive, layout_);
  base_ = get_memory(in);
  const auto count = archive.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    steps_.push_back(get_step(in));
  }
  // Files that were written before ids were kept end here.
  const ClientId owner = archive.at_end() ? id : archive.get<ClientId>();
  require(owner == id, ErrorCode::invalid_data, "{}: is the state of client {}, this is client {}", file_.string(),
          to_index(owner), to_index(id));
  // And these, where releases were not counted, or the client releases nothing.
  releases_ = archive.at_end() ? ReleaseCounts() : get_release_counts(archive);
  archive.expect_end();
}

void ClientState::write() const {
  ArchiveWriter archive;
  archive.put(std::string_view(job_));
  archive.put<std::int32_t>(committed_);
  archive.put(base_.window >= 0 || !steps_.empty());
  ModelWriter out(archive);
  put(out, base_);
  archive.put<std::uint32_t>(static_cast<std::uint32_t>(steps_.size()));
  for (const TakenStep& step : steps_) {
    put(out, step);
  }
  archive.put(id_);
  if (!releases_.empty()) {
    put(archive, releases_);
  }
  write_checkpoint(file_, archive.bytes());
}

const TakenStep* ClientState::find(Round round, int phase, const std::string& task) const {
  const auto found = std::find_if(steps_.begin(), steps_.end(), [&](const TakenStep& step) {
    return step.round == round && step.phase == phase && step.task == task && !step.failed_to_answer();
  });
  return found == steps_.end() ? nullptr : &*found;
}

ClientMemory ClientState::before(Round round, int phase) const {
  // Steps stand in the order in which they were taken.
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(), [&](const TakenStep& step) {
    return step.round < round || (step.round == round && step.phase < phase);
  });
  return last == steps_.rend() ? base_ : last->after;
}

void ClientState::keep(TakenStep step) {
  std::erase_if(steps_, [&](const TakenStep& old) {
    return old.round > step.round || (old.round == step.round && old.phase >= step.phase);
  });
  steps_.push_back(std::move(step));
  write();
}

void ClientState::count(const ReleaseCounts& releases) {
  if (releases_ != releases) {
    releases_ = releases;
    write();
    fault_point("state.releases_counted");
  }
}

void ClientState::commit(Round round, Counted counted) {
  if (round <= committed_) {
    return;
  }
  committed_ = round;
  for (TakenStep& step : steps_) {
    if (step.round == counted.round && step.phase < counted.phases) {
      base_ = std::move(step.after);
    }
  }
  std::erase_if(steps_, [&](const TakenStep& step) { return step.round <= round; });
  write();
}

}  // namespace feroma::net
