#include "edl/simulator/profile_tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "edl/base/text.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/text_file.h"
#include "edl/simulator/triangles.h"

namespace edl::simulator {
namespace {

constexpr std::uint32_t kNodesMax = 16;
constexpr std::uint32_t kNodeSlots = 4;  // of the cluster that was measured

// What the tables do not say: how many epochs a run takes, and what fits a device.
struct Known {
  std::string_view name;
  std::uint32_t epochs;
  std::uint32_t local_most;  // 0: as measured
};
constexpr Known kKnown[] = {{"bert", 2, 0},      {"cifar10", 100, 0},    {"ncf", 10, 0},
                            {"imagenet", 90, 0}, {"deepspeech2", 80, 0}, {"yolov3", 50, 8}};

}  // namespace

class ProfileFolder {
 public:
  ProfileFolder(os::Disk& disk, std::string folder, const std::string& name)
      : disk_(disk), folder_(std::move(folder)) {
    out_.name = name;
  }

  Result<Application> read() {
    EDL_TRY(read_validations());
    EDL_TRY(read_placements());
    EDL_TRY(read_scalability());
    finish_limits();
    fill_sizes();
    return std::move(out_);
  }

 private:
  using Curve = Application::Curve;
  using Size = std::pair<std::uint32_t, std::uint32_t>;

  Result<void> read_validations() {
    EDL_TRY(const std::vector<std::string> names, disk_.list(folder_));
    std::vector<std::vector<double>> progress;
    for (const std::string& name : names) {
      constexpr std::string_view kPrefix = "validation-";
      if (!name.starts_with(kPrefix)) continue;
      Application::Validation one;
      const char* digits = name.data() + kPrefix.size();
      std::from_chars(digits, name.data() + name.size(), one.batch);
      EDL_TRY(const std::string words, read_text_file(disk_, text(folder_, "/", name)));
      EDL_TRY(const CsvTable table, CsvTable::parse(words));
      EDL_TRY(auto done, column(table, "progress"));
      EDL_TRY(one.iterations, column(table, "iteration"));
      EDL_TRY(one.square, column(table, "grad_sqr"));
      EDL_TRY(one.variance, column(table, "grad_var"));
      progress.push_back(std::move(done));
      out_.validations_.push_back(std::move(one));
    }
    if (progress.empty()) {
      return Error{Code::kNotFound, text("folder ", folder_, " has no validation-BATCH.csv")};
    }
    std::size_t epochs = progress.front().size();
    for (const auto& one : progress) epochs = std::min(epochs, one.size());
    for (const Known& known : kKnown) {
      if (known.name == out_.name) epochs = std::min<std::size_t>(epochs, known.epochs);
    }
    out_.epochs = static_cast<std::uint32_t>(epochs);
    out_.progress_.assign(1, 0);
    for (std::size_t e = 0; e < epochs; ++e) {
      double least = progress.front()[e];
      for (const auto& one : progress) least = std::min(least, one[e]);
      out_.progress_.push_back(least);
    }
    const auto smaller = [](const auto& a, const auto& b) { return a.batch < b.batch; };
    std::sort(out_.validations_.begin(), out_.validations_.end(), smaller);
    return {};
  }
  static Result<std::vector<double>> column(const CsvTable& table, std::string_view name) {
    EDL_TRY(const std::size_t at, table.column(name));
    std::vector<double> values;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      EDL_TRY(const double value, table.number(row, at));
      values.push_back(value);
    }
    return values;
  }

  Result<void> read_placements() {
    EDL_TRY(const std::string words, read_text_file(disk_, folder_ + "/placements.csv"));
    EDL_TRY(const CsvTable table, CsvTable::parse(words));
    if (table.columns() < 4) return Error{Code::kInvalid, "placements.csv has too few columns"};
    std::map<std::tuple<std::uint32_t, std::uint32_t, double>, std::vector<StepSeconds>> alike;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string digits(table.field(row, 0));
      if (digits.empty() || digits.find_first_not_of("123456789") != std::string::npos) {
        return Error{Code::kInvalid, text("placements.csv, row ", row + 1, ": \"", digits,
                                          "\" is no placement: write the workers of each node")};
      }
      EDL_TRY(const double local, table.number(row, 1));
      EDL_TRY(const double step, table.number(row, 2));
      EDL_TRY(const double sync, table.number(row, 3));
      out_.placements_[digits].push_back({local, {step, sync}});
      std::uint32_t workers = 0;
      for (const char digit : digits) workers += static_cast<std::uint32_t>(digit - '0');
      alike[{static_cast<std::uint32_t>(digits.size()), workers, local}].push_back({step, sync});
    }
    if (alike.empty()) return Error{Code::kInvalid, "placements.csv has no rows"};
    for (const auto& [key, all] : alike) {
      StepSeconds mean;
      for (const StepSeconds& one : all) {
        mean.step += one.step / static_cast<double>(all.size());
        mean.sync += one.sync / static_cast<double>(all.size());
      }
      measured_[{std::get<0>(key), std::get<1>(key)}].push_back({std::get<2>(key), mean});
    }
    for (auto& [digits, curve] : out_.placements_) sort(curve);
    return {};
  }
  Result<void> read_scalability() {
    EDL_TRY(const std::string words, read_text_file(disk_, folder_ + "/scalability.csv"));
    EDL_TRY(const CsvTable table, CsvTable::parse(words));
    if (table.columns() < 5) return Error{Code::kInvalid, "scalability.csv has too few columns"};
    for (std::size_t row = 0; row < table.rows(); ++row) {
      EDL_TRY(const std::uint32_t nodes, table.count(row, 0, 1));
      EDL_TRY(const std::uint32_t workers, table.count(row, 1, 1));
      EDL_TRY(const double local, table.number(row, 2));
      EDL_TRY(const double step, table.number(row, 3));
      EDL_TRY(const double sync, table.number(row, 4));
      measured_[{nodes, workers}].push_back({local, {step, sync}});
    }
    for (auto& [size, curve] : measured_) sort(curve);
    return {};
  }
  static void sort(Curve& curve) {
    std::sort(curve.begin(), curve.end(),
              [](const auto& a, const auto& b) { return a.local_batch < b.local_batch; });
  }

  void finish_limits() {
    double least = 1e9;
    double most = 0;
    for (const auto& [digits, curve] : out_.placements_) {
      least = std::min(least, curve.front().local_batch);
      most = std::max(most, curve.back().local_batch);
    }
    for (const Known& known : kKnown) {
      if (known.name == out_.name && known.local_most > 0) most = known.local_most;
    }
    out_.batch = {static_cast<std::uint32_t>(out_.validations_.front().batch),
                  static_cast<std::uint32_t>(out_.validations_.back().batch),
                  static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most)};
  }
  // Every size of the cluster, at each measured batch: linear between nodes and workers, as the
  // simulator that the tables were made for has it.
  void fill_sizes() {
    std::map<double, std::vector<std::pair<Size, StepSeconds>>> by_batch;
    for (const auto& [size, curve] : measured_) {
      for (const auto& point : curve) {
        by_batch[point.local_batch].emplace_back(size, point.seconds);
      }
    }
    for (const auto& [local, here] : by_batch) {
      std::vector<PlanePoint> points;
      for (const auto& [size, seconds] : here) points.push_back(place_of(size));
      const Triangles triangles(std::move(points));
      for (std::uint32_t nodes = 1; nodes <= kNodesMax; ++nodes) {
        for (std::uint32_t workers = nodes; workers <= nodes * kNodeSlots; ++workers) {
          StepSeconds all;
          const auto parts = triangles.at(place_of({nodes, workers}));
          for (const auto& [point, share] : parts) {
            all.step += share * here[point].second.step;
            all.sync += share * here[point].second.sync;
          }
          if (!parts.empty()) out_.sizes_[{nodes, workers}].push_back({local, all});
        }
      }
    }
  }
  static PlanePoint place_of(const Size& size) {
    return {static_cast<double>(size.first), static_cast<double>(size.second)};
  }

  os::Disk& disk_;
  std::string folder_;
  Application out_;
  std::map<Size, Curve> measured_;
};

Result<Application> read_profile_tables(os::Disk& disk, const std::string& folder,
                                        const std::string& name) {
  return ProfileFolder(disk, folder, name).read();
}

}  // namespace edl::simulator
