#include "tools/play/play.h"

#include <gif_lib.h>
#include <png.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/check.h"

namespace starling::play {
namespace {

using envs::Image;
using envs::Rgb;

struct Rectangle {
  int left = 0, top = 0, width = 0, height = 0;
};

// Returns the smallest rectangle outside of which two images of one size are equal.
Rectangle Changed(const Image& before, const Image& after) {
  int left = after.width, right = -1, top = after.height, bottom = -1;
  for (int row = 0; row < after.height; ++row) {
    for (int column = 0; column < after.width; ++column) {
      if (before.at(row, column) == after.at(row, column)) continue;
      left = std::min(left, column);
      right = std::max(right, column);
      top = std::min(top, row);
      bottom = std::max(bottom, row);
    }
  }
  if (right < 0) return {};
  return {left, top, right - left + 1, bottom - top + 1};
}

// The nearest of 6 x 7 x 6 colours.
Rgb InCube(const Rgb& color) {
  constexpr int kLevels[3] = {6, 7, 6};
  Rgb rounded{};
  for (std::size_t i = 0; i < 3; ++i) {
    const int steps = kLevels[i] - 1;
    const int level = (color[i] * steps + 127) / 255;
    rounded[i] = static_cast<std::uint8_t>(level * 255 / steps);
  }
  return rounded;
}

struct Indexed {
  std::vector<GifColorType> colors;   // a power of two of them
  std::vector<std::uint8_t> indices;  // of the rectangle
};

// Returns false if the rectangle has more than 256 colours.
bool Index(const Image& image, const Rectangle& part, bool cube, Indexed& out) {
  std::map<Rgb, std::uint8_t> known;
  auto last = known.end();  // the colour of the pixel before, which most pixels repeat
  out = {};
  for (int row = part.top; row < part.top + part.height; ++row) {
    for (int column = part.left; column < part.left + part.width; ++column) {
      const Rgb color = cube ? InCube(image.at(row, column)) : image.at(row, column);
      if (last == known.end() || last->first != color) last = known.find(color);
      if (last == known.end()) {
        if (known.size() == 256) return false;
        last = known.emplace(color, static_cast<std::uint8_t>(known.size())).first;
        out.colors.push_back({color[0], color[1], color[2]});
      }
      out.indices.push_back(last->second);
    }
  }
  // The format needs a power of two of colours.
  std::size_t size = 2;
  while (size < out.colors.size()) size *= 2;
  out.colors.resize(size);
  return true;
}

void Check(bool good, const GifFileType* gif) {
  if (good) return;
  const char* why = gif == nullptr ? nullptr : GifErrorString(gif->Error);
  throw std::runtime_error(std::string("the GIF cannot be made: ") +
                           (why == nullptr ? "out of memory" : why));
}

int AppendTo(GifFileType* gif, const GifByteType* bytes, int count) {
  static_cast<std::string*>(gif->UserData)
      ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  return count;
}

void PutLoop(GifFileType* gif) {
  const GifByteType endless[] = {1, 0, 0};
  Check(EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
            EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") == GIF_OK &&
            EGifPutExtensionBlock(gif, 3, endless) == GIF_OK &&
            EGifPutExtensionTrailer(gif) == GIF_OK,
        gif);
}

void PutTime(GifFileType* gif, std::int64_t time_cs) {
  GraphicsControlBlock control{};
  control.DisposalMode = DISPOSE_DO_NOT;
  control.UserInputFlag = false;
  control.DelayTime =
      static_cast<int>(std::min<std::int64_t>(time_cs, std::numeric_limits<std::uint16_t>::max()));
  control.TransparentColor = NO_TRANSPARENT_COLOR;
  GifByteType bytes[4];
  EGifGCBToExtension(&control, bytes);
  Check(EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, bytes) == GIF_OK, gif);
}

void PutImage(GifFileType* gif, const Image& image, const Rectangle& part) {
  Indexed indexed;
  if (!Index(image, part, false, indexed)) CHECK(Index(image, part, true, indexed));
  const std::unique_ptr<ColorMapObject, void (*)(ColorMapObject*)> colors(
      GifMakeMapObject(static_cast<int>(indexed.colors.size()), indexed.colors.data()),
      GifFreeMapObject);
  Check(colors != nullptr, gif);
  Check(EGifPutImageDesc(gif, part.left, part.top, part.width, part.height, false, colors.get()) ==
            GIF_OK,
        gif);
  for (int row = 0; row < part.height; ++row) {
    Check(EGifPutLine(gif, &indexed.indices[static_cast<std::size_t>(row * part.width)],
                      part.width) == GIF_OK,
          gif);
  }
}

}  // namespace

GifWriter::GifWriter(int width, int height, int fps) : fps_(fps) {
  CHECK(width >= 1 && width <= 65535 && height >= 1 && height <= 65535, "{} x {}", width, height);
  CHECK(fps >= 1 && fps <= kFastest, "fps = {}", fps);
  int error = 0;
  gif_ = EGifOpen(&file_, AppendTo, &error);
  Check(gif_ != nullptr, nullptr);
  EGifSetGifVersion(gif_, true);
  Check(EGifPutScreenDesc(gif_, width, height, 8, 0, nullptr) == GIF_OK, gif_);
  PutLoop(gif_);
}

GifWriter::~GifWriter() {
  if (gif_ != nullptr) EGifCloseFile(gif_, nullptr);
}

void GifWriter::Add(const Image& image) {
  CHECK(image.width == gif_->SWidth && image.height == gif_->SHeight, "{} x {}", image.width,
        image.height);
  const std::int64_t now_cs = (frames_ * 100 + fps_ / 2) / fps_;
  if (frames_++ == 0) {
    waiting_ = image;
  } else if (image != waiting_) {
    Flush(now_cs);
    waiting_ = image;
  }
}

void GifWriter::Flush(std::int64_t until_cs) {
  const Rectangle part = shown_.rgb.empty() ? Rectangle{0, 0, waiting_.width, waiting_.height}
                                            : Changed(shown_, waiting_);
  PutTime(gif_, until_cs - waiting_since_cs_);
  PutImage(gif_, waiting_, part);
  waiting_since_cs_ = until_cs;
  std::swap(shown_, waiting_);
}

std::string GifWriter::Finish(int last_ms) {
  CHECK(gif_ != nullptr && frames_ > 0, "{} frames", frames_);
  Flush((frames_ * 100 + fps_ / 2) / fps_ + last_ms / 10);
  int error = 0;
  GifFileType* gif = std::exchange(gif_, nullptr);
  Check(EGifCloseFile(gif, &error) == GIF_OK, nullptr);
  return std::move(file_);
}

std::string EncodePng(const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&png, file.data(), &size, 0, image.rgb.data(), 0, nullptr) == 0) {
    throw std::runtime_error(std::string("the PNG cannot be made: ") + png.message);
  }
  file.resize(size);
  return file;
}

Image ContactSheet(const std::vector<Image>& images, int columns, int gap) {
  // 1. Make an empty sheet.
  CHECK(!images.empty() && columns >= 1 && gap >= 0);
  const int count = static_cast<int>(images.size());
  columns = std::min(columns, count);
  const int rows = (count + columns - 1) / columns;
  const int width = images[0].width, height = images[0].height;
  Image sheet{gap + columns * (width + gap), gap + rows * (height + gap), {}};
  for (int i = 0; i < sheet.width * sheet.height; ++i) {
    sheet.rgb.insert(sheet.rgb.end(), envs::kGap.begin(), envs::kGap.end());
  }
  // 2. Copy each image to its place.
  for (int i = 0; i < count; ++i) {
    const Image& image = images[static_cast<std::size_t>(i)];
    CHECK(image.width == width && image.height == height, "{} x {}", image.width, image.height);
    const int left = gap + i % columns * (width + gap), top = gap + i / columns * (height + gap);
    for (int row = 0; row < height; ++row) {
      std::copy_n(image.rgb.begin() + row * width * 3, width * 3,
                  sheet.rgb.begin() + ((top + row) * sheet.width + left) * 3);
    }
  }
  return sheet;
}

}  // namespace starling::play
