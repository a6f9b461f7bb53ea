#include "net/message_stream.h"

namespace feroma::net {

Scribe::Scribe() : thread_([this] { write(); }) {}

Scribe::~Scribe() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  noted_.notify_all();
}

void Scribe::note(std::weak_ptr<Writer> writer) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(writer));
  }
  noted_.notify_one();
}

void Scribe::write() {
  std::unique_lock lock(mutex_);
  for (;;) {
    noted_.wait(lock, [this] { return ending_ || !notes_.empty(); });
    if (notes_.empty()) {
      return;
    }
    const std::shared_ptr<Writer> writer = notes_.front().lock();
    notes_.pop_front();
    lock.unlock();
    if (writer != nullptr) {
      writer->advance();
    }
    lock.lock();
  }
}

}  // namespace feroma::net
