// The stream that TLS makes of another stream.
#include <algorithm>
#include <deque>

#include "edl/base/text.h"
#include "edl/http/tls.h"
#include "edl/http/tls_session.h"

namespace edl::http {
namespace {

constexpr std::size_t kReadBytesMin = 2 << 10;  // while little comes
constexpr std::size_t kReadBytesMax = 32 << 10;
constexpr std::size_t kSealBytes = 64 << 10;  // at once

class TlsStream final : public os::Stream {
 public:
  TlsStream(os::System& system, std::unique_ptr<os::Stream> under, const TlsContext& context,
            const std::string& host)
      : system_(system),
        session_(context, {under->peer(), host, system.wall_time()}),
        under_(std::move(under)) {}
  ~TlsStream() override { close(); }

  // Called once, unless the stream is destroyed before; `done` may do that too.
  void handshake(os::WriteDone done);

  void read(ByteSpan into, os::ReadDone done) override;
  void write(std::span<const ConstBytes> pieces, os::WriteDone done) override;
  void close() override;
  void send_memory(const os::Memory&, os::WriteDone done) override {
    later([done = std::move(done)] { done(Error{Code::kInvalid, "TLS carries no memory"}); });
  }
  void receive_memory(os::MemoryDone done) override {
    later([done = std::move(done)] { done(Error{Code::kInvalid, "TLS carries no memory"}); });
  }
  std::string peer() const override { return under_->peer(); }

 private:
  void later(os::Task task);
  void read_sealed();
  void sealed_came(Result<std::size_t> got);
  void greet();
  bool answer_read();
  void send_output();
  void written(const Result<void>& done);

  os::System& system_;
  TlsSession session_;
  Bytes sealed_;                       // being read into
  std::string output_;                 // being written
  std::unique_ptr<os::Stream> under_;  // behind the buffers that it uses
  os::WriteDone greeted_;
  ByteSpan read_into_;
  os::ReadDone read_done_;
  std::deque<ConstBytes> plain_;  // of the write under way
  os::WriteDone write_done_;
  bool reading_ = false;
  bool writing_ = false;
  std::size_t read_bytes_ = kReadBytesMin;
  std::optional<Error> broken_;
  std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
};

void TlsStream::later(os::Task task) {
  system_.post([open = open_, task = std::move(task)] {
    if (*open) task();
  });
}

void TlsStream::handshake(os::WriteDone done) {
  greeted_ = std::move(done);
  later([this] { greet(); });
}

void TlsStream::greet() {
  auto step = session_.handshake();
  send_output();
  if (step.ok() && !*step) return read_sealed();
  const auto greeted = std::exchange(greeted_, nullptr);
  if (!step.ok()) return greeted(step.error());
  greeted({});
}

void TlsStream::read(ByteSpan into, os::ReadDone done) {
  read_into_ = into;
  read_done_ = std::move(done);
  // What came already may hold more; it must not be given inside this call.
  later([this] {
    if (read_done_ && !answer_read()) read_sealed();
  });
}

void TlsStream::read_sealed() {
  if (reading_) return;
  reading_ = true;
  sealed_.resize(read_bytes_);
  sealed_.shrink_to_fit();
  under_->read(sealed_, [this](Result<std::size_t> got) {
    reading_ = false;
    sealed_came(std::move(got));
  });
}

void TlsStream::sealed_came(Result<std::size_t> got) {
  if (!got.ok() || *got == 0) {
    const Error error = got.ok() ? Error{Code::kUnavailable,
                                         text(peer(), " closed the connection without ending TLS")}
                                 : got.error();
    broken_ = error;
    if (greeted_) return std::exchange(greeted_, nullptr)(error);
    if (read_done_) return std::exchange(read_done_, nullptr)(error);
    return;
  }
  read_bytes_ = *got == sealed_.size() ? kReadBytesMax : kReadBytesMin;
  session_.feed(ConstBytes(sealed_).first(*got));
  if (greeted_) return greet();
  if (read_done_ && !answer_read()) read_sealed();
}

// True when the reader was told something; it may have destroyed this stream.
bool TlsStream::answer_read() {
  auto got = session_.read(read_into_);
  send_output();  // TLS may have something to say to what it read
  if (got.ok() && !got->has_value()) {
    if (!broken_) return false;
    got = *broken_;
  }
  const auto done = std::exchange(read_done_, nullptr);
  if (!got.ok()) {
    done(got.error());
  } else {
    done(**got);
  }
  return true;
}

void TlsStream::write(std::span<const ConstBytes> pieces, os::WriteDone done) {
  EDL_CHECK(pieces.size() <= kPiecesMax && !write_done_);
  plain_.assign(pieces.begin(), pieces.end());
  write_done_ = std::move(done);
  send_output();
  if (writing_) return;
  later([this] {  // there was nothing to send
    if (!write_done_ || writing_) return;
    const auto told = std::exchange(write_done_, nullptr);
    if (session_.is_open()) return told({});
    told(Error{Code::kUnavailable, text("write to ", peer(), ": the TLS connection has ended")});
  });
}

void TlsStream::send_output() {
  if (writing_) return;
  std::size_t room = kSealBytes;
  while (!plain_.empty() && room > 0) {
    const ConstBytes part = plain_.front().first(std::min(plain_.front().size(), room));
    session_.write(part);
    room -= part.size();
    plain_.front() = plain_.front().subspan(part.size());
    if (plain_.front().empty()) plain_.pop_front();
  }
  output_ = session_.take_output();
  if (output_.empty()) return;
  writing_ = true;
  const ConstBytes piece = bytes_of(output_);
  under_->write(std::span(&piece, 1), [this](const Result<void>& done) { written(done); });
}

void TlsStream::written(const Result<void>& done) {
  writing_ = false;
  output_ = {};
  if (!done.ok()) {
    plain_.clear();
    if (write_done_) std::exchange(write_done_, nullptr)(done.error());
    return;
  }
  const bool was_last = plain_.empty();
  const auto told = was_last ? std::exchange(write_done_, nullptr) : nullptr;
  send_output();
  if (told) told({});
}

void TlsStream::close() {
  if (!std::exchange(*open_, false)) return;
  session_.say_goodbye();
  plain_.clear();
  send_output();  // as far as the network takes it at once
  under_->close();
  greeted_ = nullptr;
  read_done_ = nullptr;
  write_done_ = nullptr;
}

// A handshake under way, with its deadline.
class Greeting final : public os::Pending::Operation {
 public:
  Greeting(os::System& system, std::unique_ptr<TlsStream> stream, Duration limit, TlsDone done)
      : state_(std::make_shared<State>()) {
    state_->stream = std::move(stream);
    state_->done = std::move(done);
    const std::string peer = state_->stream->peer();
    state_->alarm = system.after(limit, [state = state_.get(), peer, limit] {
      state->finish(Error{Code::kTimeout,
                          text("the TLS handshake with ", peer, " took longer than ", limit)});
    });
    state_->stream->handshake([state = state_.get()](const Result<void>& result) {
      if (!result.ok()) return state->finish(result.error());
      state->finish(std::unique_ptr<os::Stream>(std::move(state->stream)));
    });
  }
  ~Greeting() override {
    state_->done = nullptr;
    state_->alarm.cancel();
    state_->stream.reset();
  }

 private:
  struct State : std::enable_shared_from_this<State> {
    void finish(Result<std::unique_ptr<os::Stream>> result) {
      const auto self = shared_from_this();
      const TlsDone then = std::exchange(done, nullptr);
      alarm.cancel();
      stream.reset();
      then(std::move(result));
    }
    std::unique_ptr<TlsStream> stream;
    os::Pending alarm;
    TlsDone done;
  };
  std::shared_ptr<State> state_;
};

}  // namespace

os::Pending accept_tls(os::System& system, const TlsContext& context,
                       std::unique_ptr<os::Stream> stream, Duration limit, TlsDone done) {
  auto secured = std::make_unique<TlsStream>(system, std::move(stream), context, "");
  return os::Pending(
      std::make_unique<Greeting>(system, std::move(secured), limit, std::move(done)));
}

os::Pending connect_tls(os::System& system, const TlsContext& context,
                        std::unique_ptr<os::Stream> stream, const std::string& host, Duration limit,
                        TlsDone done) {
  EDL_CHECK(!host.empty(), "a TLS client has to know whom it wants to see");
  auto secured = std::make_unique<TlsStream>(system, std::move(stream), context, host);
  return os::Pending(
      std::make_unique<Greeting>(system, std::move(secured), limit, std::move(done)));
}

}  // namespace edl::http
