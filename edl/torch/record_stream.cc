#include "edl/torch/record_stream.h"

#include "edl/os/folder.h"

namespace edl::torch {
namespace {

class FolderStream final : public train::Stream {
 public:
  FolderStream(const std::string& folder, const data::StreamOptions& options)
      : folder_(folder, options) {}

  Result<train::Arrival> look(const data::Partition* last) override {
    EDL_TRY(auto found, folder_.look(last));
    return train::Arrival{std::move(found.partition), found.has_ended};
  }
  Result<void> add(const data::Partition& partition) override { return folder_.add(partition); }
  data::StreamFolder& folder() { return folder_; }

 private:
  data::StreamFolder folder_;
};

class RecordStream final : public Dataset {
 public:
  RecordStream(const std::string& folder, const data::StreamOptions& options, ParseRecord parse)
      : stream_(std::make_unique<FolderStream>(folder, options)), parse_(std::move(parse)) {}

  std::uint64_t size() const override { return stream_->folder().records(); }
  train::Stream* stream() const override { return stream_.get(); }

  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    std::vector<Batch> examples;
    for (const std::uint64_t sample : samples) {
      EDL_TRY(const data::Record record, stream_->folder().read(sample));
      EDL_TRY(Batch example, parsed(parse_, record));
      examples.push_back(std::move(example));
    }
    return stacked(examples);
  }

  Result<std::vector<data::Place>> where(std::span<const std::uint64_t> samples) const override {
    std::vector<data::Place> places;
    for (const std::uint64_t sample : samples) {
      EDL_TRY(data::Record record, stream_->folder().read(sample));
      data::add_place(places, std::move(record.place));
    }
    return places;
  }

 private:
  const std::unique_ptr<FolderStream> stream_;
  const ParseRecord parse_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> record_stream(const std::string& folder,
                                                     const data::StreamOptions& options,
                                                     ParseRecord parse) {
  EDL_TRY(data::validate(options.format));
  EDL_TRY(os::list_folder(folder, data::kRecordFilesMax));
  return std::make_shared<const RecordStream>(folder, options, std::move(parse));
}

}  // namespace edl::torch
