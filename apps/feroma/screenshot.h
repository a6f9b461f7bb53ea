#pragma once

#include <filesystem>
#include <string>

namespace feroma::cli {

/// An unsupported error that says what to install where there is no browser to draw with.
void require_browser();

/// Draws an SVG file's text with headless Chromium, two pixels for one, and writes it as PNG. A browser that takes
/// longer than a minute is killed, which is an io error. From the first call on Ctrl-C is an error of the call:
/// interrupted.
void screenshot(const std::string& svg, int width, int height, const std::filesystem::path& png);

}  // namespace feroma::cli
