#include "preview/glyphs.h"

#include <algorithm>
#include <array>

namespace feroma::detail {
namespace {

constexpr std::string_view kBox = "00l60l6al0al00";

/// ' ' to '~', in the order of their codes.
constexpr std::array<std::string_view, 95> kAscii{
    "",                                     // space
    "00l06 0al0a",                          // !
    "00l02 30l32",                          // "
    "20l0a 60l4a 03l63 07l67",              // #
    "62v30h02v35h68v3ah08 30l3b",           // $
    "20h42v24h02v20 80l0a 66h88v6ah48v66",  // %
    "8al12v30h52l06v3ah86",                 // &
    "00l02",                                // '
    "20l03l09l2c",                          // (
    "00l23l29l0c",                          // )
    "30l36 01l65 05l61",                    // *
    "06l66 33l39",                          // +
    "1al0c",                                // ,
    "06l46",                                // -
    "0al0a",                                // .
    "40l0b",                                // /
    "30h63l67v3ah07l03v30",                 // 0
    "12l30l3a",                             // 1
    "02v30h63l55l0al6a",                    // 2
    "02v30h62v34h67v3ah08 34l24",           // 3
    "4al40l07l67",                          // 4
    "60l00l04l34h67v3ah08",                 // 5
    "50h06l07v3ah67v34h07",                 // 6
    "00l60l2a",                             // 7
    "30h52v34h12v30 34h67v3ah07v34",        // 8
    "1ah64l63v30h03v36h63",                 // 9
    "04l04 0al0a",                          // :
    "14l14 1al0c",                          // ;
    "53l06l59",                             // <
    "05l65 08l68",                          // =
    "03l56l09",                             // >
    "02v30h62v35l36 3al3a",                 // ?
    "64l67h87l84v40h04l06v4ah7a 64v46h67",  // @
    "0al30l6a 17l57",                       // A
    "04l34h67v3al0al00l30h52v34",           // B
    "72v40h04l06v4ah78",                    // C
    "00l0al3ah76l74v30l00",                 // D
    "60l00l0al6a 05l55",                    // E
    "60l00l0a 05l55",                       // F
    "72v40h04l06v4ah77l75l45",              // G
    "00l0a 60l6a 05l65",                    // H
    "00l0a",                                // I
    "40l47v2ah07",                          // J
    "00l0a 60l06 24l6a",                    // K
    "00l0al5a",                             // L
    "0al00l47l80l8a",                       // M
    "0al00l6al60",                          // N
    "40h84l86v4ah06l04v40",                 // O
    "0al00l30h63v36l06",                    // P
    "40h84l86v4ah06l04v40 57l8b",           // Q
    "0al00l30h63v36l06 36l6a",              // R
    "62v30h02v35h68v3ah08",                 // S
    "00l60 30l3a",                          // T
    "00l07v3ah67l60",                       // U
    "00l3al60",                             // V
    "00l2al42l6al80",                       // W
    "00l6a 60l0a",                          // X
    "00l35l60 35l3a",                       // Y
    "00l60l0al6a",                          // Z
    "20l00l0cl2c",                          // [
    "00l4b",                                // backslash
    "00l20l2cl0c",                          // ]
    "04l30l64",                             // ^
    "0bl6b",                                // _
    "00l22",                                // `
    "33h06l07v3ah67l66v33 63l6a",           // a
    "00l0a 33h66l67v3ah07l06v33",           // b
    "65v33h06l07v3ah68",                    // c
    "60l6a 33h06l07v3ah67l66v33",           // d
    "06l66v33h06l07v3ah69",                 // e
    "40h22l2a 03l43",                       // f
    "33h06l07v3ah67l66v33 63l6av3dh0b",     // g
    "00l0a 06v33h66l6a",                    // h
    "03l0a 00l00",                          // i
    "23l2bv0d 20l20",                       // j
    "00l0a 53l07 25l5a",                    // k
    "00l0a",                                // l
    "03l0a 05v23h45l4a 45v63h85l8a",        // m
    "03l0a 06v33h66l6a",                    // n
    "33h66l67v3ah07l06v33",                 // o
    "03l0d 33h66l67v3ah07l06v33",           // p
    "63l6d 33h06l07v3ah67l66v33",           // q
    "03l0a 06v33l43",                       // r
    "54v33h05v36h58v3ah09",                 // s
    "20l28v4a 03l43",                       // t
    "03l07v3ah67 63l6a",                    // u
    "03l3al63",                             // v
    "03l2al44l6al83",                       // w
    "03l5a 53l0a",                          // x
    "03l3a 63l2d",                          // y
    "03l53l0al5a",                          // z
    "30v25v06v27v3c",                       // {
    "00l0d",                                // |
    "00v15v36v17v0c",                       // }
    "06v25l56v74",                          // ~
};

struct Sign {
  char32_t character;
  std::string_view strokes;
};
constexpr std::array kSigns{
    Sign{U'°', "20h42v24h02v20"}, Sign{U'·', "06l06"}, Sign{U'×', "04l49 44l09"},
    Sign{U'→', "06l86 53l86l59"}, Sign{U'–', "06l66"}, Sign{U'…', "0al0a 3al3a 6al6a"},
};

}  // namespace

std::string_view glyph(char32_t character) {
  if (character >= U' ' && character <= U'~') {
    return kAscii[character - U' '];
  }
  const auto found =
      std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& sign) { return sign.character == character; });
  return found == kSigns.end() ? kBox : found->strokes;
}

}  // namespace feroma::detail
