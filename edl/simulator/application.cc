#include "edl/simulator/application.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "edl/base/text.h"

namespace edl::simulator {
namespace {

constexpr std::size_t kCountMax = 1 << 20;
constexpr std::uint32_t kNodesMax = 16;  // of the largest measured cluster
constexpr std::uint32_t kWorkersMax = 64;

// Digits of the rotation that comes first.
std::string digits_of(const Placement& placement) {
  std::string digits;
  for (const std::uint32_t count : placement) digits += static_cast<char>('0' + count);
  std::string first = digits;
  for (std::size_t i = 1; i < digits.size(); ++i) {
    std::rotate(digits.begin(), digits.begin() + 1, digits.end());
    first = std::min(first, digits);
  }
  return first;
}

}  // namespace

std::uint32_t workers_in(const Placement& placement) {
  std::uint32_t workers = 0;
  for (const std::uint32_t count : placement) workers += count;
  return workers;
}

double Application::between(std::uint32_t batch_size, std::uint32_t epoch,
                            std::vector<double> Validation::*column) const {
  const auto above =
      std::lower_bound(validations_.begin(), validations_.end(), static_cast<double>(batch_size),
                       [](const Validation& one, double wanted) { return one.batch < wanted; });
  if (above == validations_.end()) return (validations_.back().*column)[epoch];
  const double high = ((*above).*column)[epoch];
  if (above->batch == batch_size || above == validations_.begin()) return high;
  const Validation& below = *(above - 1);
  const double low = (below.*column)[epoch];
  return ((batch_size - below.batch) * high + (above->batch - batch_size) * low) /
         (above->batch - below.batch);
}

scheduler::Gradient Application::gradient(std::uint32_t batch_size, std::uint32_t epoch) const {
  return {between(batch_size, epoch, &Validation::square),
          between(batch_size, epoch, &Validation::variance)};
}

double Application::iterations(std::uint32_t batch_size, std::uint32_t epoch) const {
  return between(batch_size, epoch, &Validation::iterations);
}

StepSeconds Application::on(const Curve& curve, double local_batch) {
  auto above = std::lower_bound(
      curve.begin(), curve.end(), local_batch,
      [](const Point& point, double wanted) { return point.local_batch < wanted; });
  if (above == curve.end()) return curve.back().seconds;
  if (above == curve.begin() || above->local_batch == local_batch) return above->seconds;
  const Point& low = *(above - 1);
  const double share = (local_batch - low.local_batch) / (above->local_batch - low.local_batch);
  return {low.seconds.step + share * (above->seconds.step - low.seconds.step),
          low.seconds.sync + share * (above->seconds.sync - low.seconds.sync)};
}

StepSeconds Application::step_seconds(const Placement& placement, double local_batch) const {
  const auto measured = placements_.find(digits_of(placement));
  if (measured != placements_.end()) return on(measured->second, local_batch);
  // A placement that was not measured: by its nodes and workers alone.
  const auto nodes =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(placement.size()), kNodesMax);
  const std::uint32_t workers = std::min(workers_in(placement), kWorkersMax);
  auto found = sizes_.lower_bound({nodes, workers});
  if (found == sizes_.end()) --found;
  return on(found->second, local_batch);
}

// Words of the file, one after the other; the first problem is kept.
class ProfileReader {
 public:
  explicit ProfileReader(std::string_view words) : rest_(words) {}

  Result<Application> read() {
    Application out;
    out.name = word();
    out.batch.initial = count();
    out.batch.most = count();
    out.batch.local_least = count();
    out.batch.local_most = count();
    out.epochs = count();
    out.progress_ = numbers(std::size_t{out.epochs} + 1);
    const std::size_t validations = count();
    for (std::size_t i = 0; i < validations && problem_.empty(); ++i) {
      Application::Validation one;
      one.batch = number();
      one.iterations = numbers(out.epochs);
      one.square = numbers(out.epochs);
      one.variance = numbers(out.epochs);
      out.validations_.push_back(std::move(one));
    }
    read_placements(out);
    read_sizes(out);
    if (problem_.empty() && (out.sizes_.empty() || out.validations_.empty() || out.epochs == 0)) {
      problem_ = "it has no epochs, batches or sizes";
    }
    if (!problem_.empty()) return Error{Code::kInvalid, text("is no profile: ", problem_)};
    return out;
  }

 private:
  void read_placements(Application& out) {
    const std::size_t placements = count();
    for (std::size_t i = 0; i < placements && problem_.empty(); ++i) {
      const std::string digits(word());
      const std::size_t points = count();
      Application::Curve& curve = out.placements_[digits];
      for (std::size_t p = 0; p < points && problem_.empty(); ++p) {
        const double local = number();
        const double step = number();
        curve.push_back({local, {step, number()}});
      }
      if (curve.empty()) out.placements_.erase(digits);
    }
  }
  void read_sizes(Application& out) {
    const std::vector<double> grid = numbers(count());
    const std::size_t sizes = count();
    for (std::size_t i = 0; i < sizes && problem_.empty(); ++i) {
      const std::uint32_t nodes = count();
      const std::uint32_t workers = count();
      Application::Curve curve;
      for (const double local : grid) {
        const double step = number();
        const double sync = number();
        if (std::isfinite(step) && step > 0) curve.push_back({local, {step, sync}});
      }
      if (!curve.empty()) out.sizes_[{nodes, workers}] = std::move(curve);
    }
  }

  std::string_view word() {
    const auto begin = rest_.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      if (problem_.empty()) problem_ = "it ends too early";
      return {};
    }
    const auto end = std::min(rest_.find_first_of(" \t\r\n", begin), rest_.size());
    const std::string_view found = rest_.substr(begin, end - begin);
    rest_ = rest_.substr(end);
    return found;
  }
  double number() {
    const std::string_view digits = word();
    double value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if ((failed != std::errc() || end != digits.data() + digits.size()) && problem_.empty()) {
      problem_ = text("\"", digits, "\" is no number");
    }
    return value;
  }
  std::uint32_t count() {
    const double value = number();
    if (!problem_.empty()) return 0;
    if (!(value >= 0 && value <= kCountMax) || value != std::floor(value)) {
      problem_ = text(value, " is no count up to ", kCountMax);
      return 0;
    }
    return static_cast<std::uint32_t>(value);
  }
  std::vector<double> numbers(std::size_t many) {
    std::vector<double> out;
    for (std::size_t i = 0; i < many && problem_.empty(); ++i) out.push_back(number());
    return out;
  }

  std::string_view rest_;
  std::string problem_;
};

// Measured on one worker, with its largest batch.
void apply_habits(Application& application) {
  if (application.name != "ncf") return;
  application.workers_max = 1;
  application.kept_batch = application.batch.most;
}

Result<Application> parse_application(std::string_view words) {
  return ProfileReader(words).read();
}

}  // namespace edl::simulator
