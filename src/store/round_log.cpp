#include "feroma/store/round_log.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

std::vector<float> floats_in(const Bytes& bytes, const std::string& name) {
  ArchiveReader archive(bytes, name);
  std::vector<float> values = archive.get_vector<float>();
  archive.expect_end();
  return values;
}

/// One line of words, the last of which is a checksum of the others.
std::string witness_text(const std::string& job, Round round, const std::string& state) {
  const std::string words = fmt::format("feroma-finished-1 {} {} {}", job, round, state);
  return fmt::format("{} {:08x}\n", words,
                     ::crc32_z(0, reinterpret_cast<const unsigned char*>(words.data()), words.size()));
}

void put(ArchiveWriter& out, const GrownFiles& files) {
  out.put<std::uint32_t>(static_cast<std::uint32_t>(files.size()));
  for (const auto& [name, file] : files) {
    out.put(std::string_view(name));
    out.put(file.size);
    out.put(std::string_view(file.digest));
  }
}

GrownFiles get_grown_files(ArchiveReader& in) {
  GrownFiles files;
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const std::string name = in.get_string();
    require(is_file_name(name), ErrorCode::invalid_data, "a growing file must have a name, got \"{}\"", name);
    const auto size = in.get<std::uint64_t>();
    files[name] = {size, in.get_string()};
  }
  return files;
}

fs::path folder_that_is_free(const fs::path& folder) {
  require(!RoundLog::is_held(folder), ErrorCode::io, "{}: another process holds this journal",
          (folder / "journal").string());
  return folder;
}

}  // namespace

RoundLog::RoundLog(const fs::path& folder, Unread) : folder_(folder), blobs_(folder / "models") {}

RoundLog::RoundLog(const fs::path& folder) : RoundLog(folder, Unread{}) {
  const JournalContent content = examine_journal(journal_file());
  if (content.records.empty() && content.damage.empty()) {
    require_nothing_to_lose();
  }
  adopt(content);
  require_grown();
}

RoundLog::RoundLog(const fs::path& folder, const std::function<JobRecord()>& make_job)
    : RoundLog(folder_that_is_free(folder)) {
  journal_.emplace(journal_file());
  // What is in folders survives only if the folders do.
  detail::sync_folder(folder);
  detail::sync_folder(folder.parent_path());
  if (job_.id.empty()) {
    job_ = make_job();
    append(Kind::job, [this](ArchiveWriter& record) {
      record.put(std::string_view(job_.id));
      record.put(std::string_view(job_.config));
    });
  }
  if (witness_ == Witness::damaged) {
    remarks_.push_back(
        fmt::format("what was in {} is in {} now", witness_file().string(), move_aside(witness_file()).string()));
  }
  if (committed_ > 0 && witness_round_ != committed_) {
    write_witness();
  }
}

bool RoundLog::is_held(const fs::path& folder) {
  const fs::path journal = folder / "journal";
  return fs::exists(journal) && detail::PosixFile(journal, O_RDONLY).is_held();
}

std::vector<std::string> RoundLog::set_damage_aside(const fs::path& folder) {
  RoundLog log(folder_that_is_free(folder), Unread{});
  JournalContent content = examine_journal(log.journal_file());
  const bool is_damaged = !std::exchange(content.damage, "").empty();
  log.adopt(content);  // what is whole fits together, or it is refused here
  std::vector<std::string> done;
  if (is_damaged) {
    const Bytes all = read_file(log.journal_file());
    const fs::path aside = aside_name(log.journal_file());
    write_file_atomically(aside, all);
    write_file_atomically(log.journal_file(), std::span(all).first(content.whole));
    done.push_back(fmt::format("what was damaged is in {} now", aside.string()));
  }
  GrownFiles left = log.grown_;
  for (auto& [name, grown] : left) {
    const fs::path file = folder / name;
    if (!damage_of(file, grown).empty()) {
      done.push_back(fs::exists(file) ? fmt::format("what was damaged is in {} now", move_aside(file).string())
                                      : fmt::format("{} begins anew", file.string()));
      write_file_atomically(file, std::string_view());
      grown = {0, sha256({})};
    }
  }
  if (left != log.grown_) {
    log.journal_.emplace(log.journal_file());
    log.append(Kind::grown, [&](ArchiveWriter& record) { put(record, left); });
  }
  return done;
}

void RoundLog::require_nothing_to_lose() const {
  // All that a server writes once its journal has begun.
  for (const char* name : {"finished", "results", "metrics.csv", "clients.csv", "events.jsonl"}) {
    require(!fs::exists(folder_ / name), ErrorCode::invalid_data,
            "{}: is missing or empty, but {} is there: a federation began here, and nothing is begun in its place; "
            "restore the folder from a backup, or move it aside to begin a new one",
            journal_file().string(), (folder_ / name).string());
  }
  require(blobs_.list().empty(), ErrorCode::invalid_data,
          "{}: is missing or empty, but {} holds {} files: a federation began here, and nothing is begun in its place; "
          "restore the folder from a backup, or move it aside to begin a new one",
          journal_file().string(), (folder_ / "models").string(), blobs_.list().size());
}

void RoundLog::adopt(const JournalContent& content) {
  read_witness();
  for (std::size_t i = 0; i < content.records.size(); ++i) {
    replay(content.records[i], fmt::format("{}: record {}", journal_file().string(), i + 1));
  }
  require(content.damage.empty(), ErrorCode::invalid_data, "{}: is damaged: {}; {}", journal_file().string(),
          content.damage, way_back());
  require(witness_ != Witness::whole || witness_job_ == job_.id, ErrorCode::invalid_data,
          "{}: is of federation {}, but {} of {}: restore the one that belongs to the other, or the folder, from a "
          "backup",
          journal_file().string(), job_.id, witness_file().string(), witness_job_);
  require(
      witness_ != Witness::whole || witness_met_, ErrorCode::invalid_data,
      "{}: lost its end: round {} was finished ({} says so), and round {} is the last one in it; restore the folder "
      "from a backup; where it is one, and older on purpose, move {} aside",
      journal_file().string(), witness_round_, witness_file().string(), committed_, witness_file().string());
  require_models();
  if (content.cut > 0) {
    remarks_.push_back(fmt::format("{}: ends with {} bytes of an unfinished record, as after a crash; they are cut off",
                                   journal_file().string(), content.cut));
  }
  blobs_.vouch_for(named());
}

std::set<std::string> RoundLog::named() const {
  std::set<std::string> digests(models_.begin(), models_.end());
  if (committed_ > 0) {
    digests.insert(state_);
  }
  return digests;
}

void RoundLog::require_models() const {
  for (const std::string& digest : named()) {
    require(fs::exists(blobs_.path_of(digest)), ErrorCode::invalid_data,
            "{}: is missing, and round {} cannot be gone on from without it; restore it from a backup (a file of this "
            "name is the right one), or the whole folder",
            blobs_.path_of(digest).string(), committed_);
  }
}

void RoundLog::require_grown() const {
  for (const auto& [name, grown] : grown_) {
    const std::string damage = damage_of(folder_ / name, grown);
    require(damage.empty(), ErrorCode::invalid_data,
            "{}: is not as round {} left it: {}; restore it from a backup, or give up its lines, which are for people: "
            "`feroma server --set-damage-aside` keeps what is there and begins it anew",
            (folder_ / name).string(), committed_, damage);
  }
}

std::string RoundLog::way_back() const {
  const std::set<std::string> needed = named();
  const std::set<std::string> there = blobs_.list();
  const bool is_whole = std::includes(there.begin(), there.end(), needed.begin(), needed.end());
  const bool is_last = committed_ > 0 ? witness_ != Witness::whole || witness_met_ : there.empty();
  if (!is_whole || !is_last || job_.id.empty()) {
    return "restore the folder from a backup";
  }
  return fmt::format(
      "what stands before it is whole up to round {}: `feroma server --set-damage-aside` keeps a "
      "copy of the journal and lets it end there",
      committed_);
}

void RoundLog::read_witness() {
  if (!fs::exists(witness_file())) {
    return;
  }
  const std::string text = read_text(witness_file());
  std::istringstream words(text);
  std::string name, job, state;
  Round round = 0;
  if (words >> name >> job >> round >> state && text == witness_text(job, round, state)) {
    witness_ = Witness::whole;
    witness_job_ = job;
    witness_round_ = round;
    witness_state_ = state;
    return;
  }
  witness_ = Witness::damaged;
  remarks_.push_back(fmt::format("{}: is damaged; the journal says the same, so it is moved aside and written anew",
                                 witness_file().string()));
}

void RoundLog::write_witness() const {
  write_file_atomically(witness_file(), witness_text(job_.id, committed_, state_));
}

void RoundLog::replay(std::span<const std::byte> record, const std::string& name) {
  ArchiveReader in(record, name);
  const auto kind = in.get<Kind>();
  require(kind == Kind::job || !job_.id.empty(), ErrorCode::invalid_data, "{}: stands before a federation was begun",
          name);
  switch (kind) {
    case Kind::job:
      require(job_.id.empty(), ErrorCode::invalid_data, "{}: begins a second federation", name);
      job_.id = in.get_string();
      job_.config = in.get_string();
      require(!job_.id.empty(), ErrorCode::invalid_data, "{}: names no federation", name);
      break;
    case Kind::started: {
      StartedRound round;
      round.round = in.get<std::int32_t>();
      for (const std::uint32_t client : in.get_vector<std::uint32_t>()) {
        round.participants.push_back(static_cast<ClientId>(client));
      }
      started_ = std::move(round);
      break;
    }
    case Kind::commit: {
      const auto round = in.get<std::int32_t>();
      require(round > committed_, ErrorCode::invalid_data, "{}: finishes round {} after round {}", name, round,
              committed_);
      committed_ = round;
      state_ = in.get_string();
      models_.clear();
      for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        models_.push_back(in.get_string());
      }
      grown_ = in.at_end() ? GrownFiles() : get_grown_files(in);
      started_.reset();
      witness_met_ = witness_met_ || (round == witness_round_ && state_ == witness_state_);
      break;
    }
    case Kind::note: {
      const std::string fact = in.get_string();
      notes_[fact] = in.get_vector<std::byte>();
      break;
    }
    case Kind::scale:
      require(input_scale_.empty() && committed_ == 0, ErrorCode::invalid_data,
              "{}: fixes the scale of the inputs twice, or after a round", name);
      input_scale_ = in.get_vector<float>();
      break;
    case Kind::grown: grown_ = get_grown_files(in); break;
    default: fail(ErrorCode::invalid_data, "{}: is of the unknown kind {}", name, static_cast<int>(kind));
  }
  in.expect_end();
}

void RoundLog::fix(std::vector<float> input_scale) {
  require(input_scale_.empty() && committed_ == 0, ErrorCode::internal,
          "[log] the scale is fixed once, before round 1");
  append(Kind::scale, [&](ArchiveWriter& record) { record.put(input_scale); });
  input_scale_ = std::move(input_scale);
}

void RoundLog::note(const std::string& name, Bytes fact) {
  {
    const std::lock_guard lock(appending_);
    if (const auto found = notes_.find(name); found != notes_.end() && found->second == fact) {
      return;
    }
  }
  append(Kind::note, [&](ArchiveWriter& record) {
    record.put(std::string_view(name));
    record.put(fact);
  });
  const std::lock_guard lock(appending_);
  notes_[name] = std::move(fact);
}

void RoundLog::append(Kind kind, const std::function<void(ArchiveWriter&)>& write) {
  require(journal_.has_value(), ErrorCode::internal, "[log] {} is only read", journal_file().string());
  ArchiveWriter record;
  record.put(kind);
  write(record);
  const std::lock_guard lock(appending_);
  journal_->append(record.bytes());
}

void RoundLog::start(const StartedRound& round) {
  std::vector<std::uint32_t> clients;
  for (const ClientId client : round.participants) {
    clients.push_back(to_index(client));
  }
  append(Kind::started, [&](ArchiveWriter& record) {
    record.put<std::int32_t>(round.round);
    record.put(clients);
  });
  started_ = round;
}

void RoundLog::commit(Round round, const std::function<void(ModelWriter&)>& save, GrownFiles grown) {
  require(round > committed_, ErrorCode::internal, "[log] round {} was finished before", round);
  std::set<std::string> models;
  ArchiveWriter state;
  ModelWriter writer(state, [&](const Parameters& model) {
    // Everybody would train on from it, and no later round could mend it.
    require(model.all_finite(), ErrorCode::invalid_data, "round {}: models must be finite, one has a value that is not",
            round);
    ArchiveWriter values;
    values.put(model.values());
    std::string digest = blobs_.put(values.bytes());
    models.insert(digest);
    return digest;
  });
  fault_point("commit.begun");
  save(writer);
  fault_point("commit.models_written");
  const std::string digest = blobs_.put(state.bytes());
  blobs_.sync();
  fault_point("commit.synced");
  append(Kind::commit, [&](ArchiveWriter& record) {
    record.put<std::int32_t>(round);
    record.put(std::string_view(digest));
    record.put<std::uint32_t>(static_cast<std::uint32_t>(models.size()));
    for (const std::string& model : models) {
      record.put(std::string_view(model));
    }
    put(record, grown);
  });
  fault_point("commit.appended");
  // From here on the round stands. What only earlier rounds name is of no more use.
  committed_ = round;
  state_ = digest;
  models_.assign(models.begin(), models.end());
  grown_ = std::move(grown);
  started_.reset();
  write_witness();
  fault_point("commit.witnessed");
  blobs_.keep_only(named());
  fault_point("commit.cleaned");
}

void RoundLog::load(const std::shared_ptr<const ParamLayout>& layout,
                    const std::function<void(ModelReader&)>& load) const {
  require(committed_ > 0, ErrorCode::internal, "[log] no round was finished yet");
  const Bytes bytes = blobs_.get(state_);
  ArchiveReader archive(bytes, "the state of round " + std::to_string(committed_));
  ModelReader reader(archive, layout,
                     [this](const std::string& digest) { return floats_in(blobs_.get(digest), digest); });
  load(reader);
  archive.expect_end();
}

}  // namespace feroma
