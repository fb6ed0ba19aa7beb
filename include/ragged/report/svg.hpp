// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes and words of a drawing as SVG text, for any page: its ground is white, its fonts are the reader's.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <ragged/core/error.hpp> // concat
#include <ragged/report/text.hpp>

namespace ragged {

namespace detail {

inline std::string xml_escaped(std::string_view text) {
    std::string result;
    for (const char c : printable(text))
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        default:
            result += c;
        }
    return result;
}

/// All lengths in pixels, from the upper left corner; `more` is further attributes of the element.
class SvgCanvas {
  public:
    void rect(double x, double y, double wide, double high, std::string_view fill,
              std::string_view more = "") {
        body_ += concat("<rect x=\"", fixed(x, 2), "\" y=\"", fixed(y, 1), "\" width=\"", fixed(wide, 2),
                        "\" height=\"", fixed(high, 1), "\" fill=\"", fill, "\" ", more, "/>\n");
    }
    void line(double x1, double y1, double x2, double y2, std::string_view stroke, double thick) {
        body_ += concat("<line x1=\"", fixed(x1, 2), "\" y1=\"", fixed(y1, 1), "\" x2=\"", fixed(x2, 2),
                        "\" y2=\"", fixed(y2, 1), "\" stroke=\"", stroke, "\" stroke-width=\"",
                        fixed(thick, 1), "\"/>\n");
    }
    void circle(double x, double y, double radius, std::string_view fill, std::string_view more = "") {
        body_ += concat("<circle cx=\"", fixed(x, 1), "\" cy=\"", fixed(y, 1), "\" r=\"", fixed(radius, 1),
                        "\" fill=\"", fill, "\" ", more, "/>\n");
    }
    /// `steps` are moves and lines between points, as SVG.
    void path(std::string_view steps, std::string_view stroke, double thick, std::string_view more = "") {
        body_ += concat("<path d=\"", steps, "\" fill=\"none\" stroke=\"", stroke, "\" stroke-width=\"",
                        fixed(thick, 1), "\" ", more, "/>\n");
    }
    void text(double x, double y, int size, std::string_view fill, std::string_view words,
              std::string_view more = "") {
        body_ += concat("<text x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" font-size=\"", size,
                        "\" fill=\"", fill, "\" ", more, ">", xml_escaped(words), "</text>\n");
    }

    /// The whole drawing. `defs` is what its attributes refer to, as SVG.
    void write(std::ostream& out, double width, double height, std::string_view defs = "") const {
        const std::string wide = fixed(width, 0), high = fixed(height, 0);
        out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << wide << "\" height=\"" << high
            << "\" viewBox=\"0 0 " << wide << ' ' << high
            << "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            << defs << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
            << body_ << "</svg>\n";
    }

  private:
    std::string body_;
};

} // namespace detail

} // namespace ragged
