// Pictures as files: animated GIF (giflib) and PNG (libpng), made in memory so that a file is
// either whole or absent (core/file.h).
//
// Thread safety: none needed; nothing is shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envs/picture.h"

struct GifFileType;

namespace starling::play {

// A GIF that begins anew when it is over. A frame stores only the rectangle that changed, with the
// colours in it (more than 256 of them are rounded to a cube of 6 x 7 x 6), and a frame that
// changes nothing only makes the one before last longer.
class GifWriter {
 public:
  static constexpr int kFastest = 50;  // frames per second; viewers slow down what is faster

  // Every frame is `width` x `height` pixels, each 1 to 65535, and stands for 1 / `fps` seconds,
  // fps in [1, kFastest]. The format counts hundredths of a second: they are rounded so that the
  // whole does not drift.
  GifWriter(int width, int height, int fps);
  ~GifWriter();
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  void Add(const envs::Image& image);
  // The file, in which the last frame stays for `last_ms` more. Call once, after at least one Add.
  std::string Finish(int last_ms = 1000);

 private:
  void Flush(std::int64_t until_cs);  // writes the frame that waits to learn how long it lasts

  const int fps_;
  std::string file_;
  GifFileType* gif_;
  envs::Image shown_;                  // what a viewer shows before the waiting frame
  envs::Image waiting_;                // empty before the first
  std::int64_t frames_ = 0;            // added
  std::int64_t waiting_since_cs_ = 0;  // when the waiting frame begins
};

// The bytes of a PNG.
std::string EncodePng(const envs::Image& image);

// Images of one size in rows of `columns` >= 1, with `gap` pixels of envs::kGap between them and
// around them; at least one image.
envs::Image ContactSheet(const std::vector<envs::Image>& images, int columns, int gap);

}  // namespace starling::play
