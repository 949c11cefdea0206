// Encodes pictures as animated GIF (giflib) and PNG (libpng), in memory: core/file.h then writes a
// whole file or none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envs/picture.h"

struct GifFileType;

namespace starling::play {

// A GIF that loops. A frame stores only the rectangle that changed and its colours (more than 256
// are rounded to a cube of 6 x 7 x 6). A frame without changes prolongs the one before.
class GifWriter {
 public:
  static constexpr int kFastest = 50;  // frames per second; viewers slow down faster ones

  // A frame is `width` x `height` pixels, each 1 to 65535, and lasts 1 / `fps` seconds, fps in
  // [1, kFastest]. The format counts hundredths of a second, rounded without drift.
  GifWriter(int width, int height, int fps);
  ~GifWriter();
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  void Add(const envs::Image& image);
  // Returns the file. The last frame stays for `last_ms` more. REQUIRES: one call, after an Add.
  std::string Finish(int last_ms = 1000);

 private:
  void Flush(std::int64_t until_cs);  // writes the waiting frame, whose end is now known

  const int fps_;
  std::string file_;
  GifFileType* gif_;
  envs::Image shown_;                  // on the viewer's screen before the waiting frame
  envs::Image waiting_;                // empty before the first
  std::int64_t frames_ = 0;            // added
  std::int64_t waiting_since_cs_ = 0;  // when the waiting frame begins
};

// Returns the bytes of a PNG.
std::string EncodePng(const envs::Image& image);

// Returns the images in rows of `columns`, with `gap` pixels of envs::kGap between and around them.
// REQUIRES: at least one image, all of one size; columns >= 1.
envs::Image ContactSheet(const std::vector<envs::Image>& images, int columns, int gap);

}  // namespace starling::play
