// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the commands share: main, the model inventory that some read, and where the results go.
#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/spec/inventory.hpp>

#include "options.hpp"
#include "output_file.hpp"

namespace support {

/// The whole of main: `run` gets the options; what is wrong is one line on standard error, and 2.
template <class Run>
int run_program(std::string_view name, std::string_view usage, int count, char** arguments,
                std::initializer_list<Option> known, Run run) {
    try {
        const Options options(count, arguments, known);
        if (options.has("--help")) {
            std::cout << usage;
            finish_standard_output();
        } else {
            run(options);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << one_line(error.what()) << '\n';
        return 2;
    }
}

/// @throws UsageError  there is no positional argument
inline void require_inventory(const Options& options) {
    if (options.positional().empty())
        throw UsageError("which INVENTORY.tsv? --help shows the usage");
}

/// The model of the positional argument. @throws ragged::SpecError, UsageError  unreadable, or without
/// tensors
inline ragged::ModelSpec read_model(const Options& options) {
    ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(options.positional()));
    if (model.groups.empty())
        throw UsageError(ragged::concat(options.positional(), ": lists no tensor"));
    return model;
}

/// Results for programs and drawings, each where an option says (--json FILE), and text on standard output
/// where none of them goes there. All are written in full before any gets its name.
class Outputs {
  public:
    /// Nothing is opened yet.
    /// @param names  options that take FILE; the first takes - as well, which is standard output
    /// @param input  a file that is not to be overwritten; may be empty. `what` is its name in messages
    /// @throws UsageError  outputs that would destroy each other or the input
    Outputs(const Options& options, std::initializer_list<std::string_view> names, const std::string& input,
            std::string_view what) {
        for (const std::string_view name : names) {
            if (!options.has(name))
                continue;
            Output& output = outputs_.emplace_back();
            output.name = name;
            output.path = options.value(name);
            if (output.path == "-" && name != *names.begin())
                throw UsageError(ragged::concat(name, " needs a file, '-' is none"));
            output.standard = output.path == "-" || is_standard_output(output.path);
            if (output.path != "-" && same_file(output.path, input))
                throw UsageError(
                    ragged::concat("'", output.path, "' is the ", what, ", it is not overwritten"));
            for (const Output& other : outputs_)
                if (&other != &output &&
                    (other.standard ? output.standard : same_file(other.path, output.path)))
                    throw UsageError(
                        ragged::concat(other.name, " and ", name, " both name '", output.path, "'"));
        }
    }

    /// Open all that were asked for: before long work, or at the first call of stream().
    /// @throws ragged::Error when a place cannot be written
    void open() {
        for (Output& output : outputs_)
            if (!output.standard && !output.file)
                output.file = std::make_unique<OutputFile>(output.path);
    }

    /// Where the result of an option goes; none when it was not asked for. @throws ragged::Error as open()
    std::ostream* stream(std::string_view name) {
        open();
        for (Output& output : outputs_)
            if (output.name == name)
                return output.standard ? &text_ : &output.file->stream();
        return nullptr;
    }
    /// Standard output, where no result goes there.
    std::ostream* text() {
        return std::any_of(outputs_.begin(), outputs_.end(),
                           [](const Output& output) { return output.standard; })
                   ? nullptr
                   : &text_;
    }

    /// @throws ragged::Error naming the output that took not all; then the others are as they were
    void publish() {
        for (Output& output : outputs_)
            if (output.file)
                output.file->finish();
        std::cout << text_.view();
        finish_standard_output();
        for (Output& output : outputs_)
            if (output.file)
                output.file->publish();
    }

  private:
    struct Output {
        std::string name, path;
        bool standard = false;            // standard output, maybe by another name
        std::unique_ptr<OutputFile> file; // stays where it is
    };

    std::vector<Output> outputs_; // that were asked for
    std::ostringstream text_;
};

} // namespace support
