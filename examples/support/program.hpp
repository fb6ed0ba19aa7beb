// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the commands over a model inventory share: main, the inventory, and where the results go.
#pragma once

#include <exception>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

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
        } else if (options.positional().empty()) {
            throw UsageError("which INVENTORY.tsv? --help shows the usage");
        } else {
            run(options);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << one_line(error.what()) << '\n';
        return 2;
    }
}

/// The model of the positional argument. @throws ragged::SpecError, UsageError  unreadable, or without
/// tensors
inline ragged::ModelSpec read_model(const Options& options) {
    ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(options.positional()));
    if (model.groups.empty())
        throw UsageError(ragged::concat(options.positional(), ": lists no tensor"));
    return model;
}

/// A result for programs (`data`, an option that takes FILE or -), a drawing (--svg FILE), and a table on
/// standard output where neither goes there. All are written in full before any gets its name.
class Outputs {
  public:
    /// Nothing is opened yet. @throws UsageError  outputs that would destroy each other or the inventory
    Outputs(const Options& options, std::string_view data) {
        if (options.has(data))
            data_.path = options.value(data);
        if (options.has("--svg"))
            svg_.path = options.value("--svg");
        if (svg_.path == "-")
            throw UsageError("--svg needs a file, '-' is none");
        for (Output* output : {&data_, &svg_}) {
            if (!output->path)
                continue;
            output->standard = output->path == "-" || is_standard_output(*output->path);
            if (output->path != "-" && same_file(*output->path, options.positional()))
                throw UsageError(
                    ragged::concat("'", *output->path, "' is the inventory, it is not overwritten"));
        }
        if (data_.path && svg_.path && (data_.standard ? svg_.standard : same_file(*data_.path, *svg_.path)))
            throw UsageError(ragged::concat(data, " and --svg both name '", *svg_.path, "'"));
    }

    /// Where the result goes, opened at the first call; none when it was not asked for.
    /// @throws ragged::Error when the place cannot be written
    std::ostream* data() { return open(data_); }
    std::ostream* svg() { return open(svg_); }
    std::ostream* table() { return data_.standard || svg_.standard ? nullptr : &text_; }

    /// @throws ragged::Error naming the output that took not all; then the others are as they were
    void publish() {
        for (Output* output : {&data_, &svg_})
            if (output->file)
                output->file->finish();
        std::cout << text_.view();
        finish_standard_output();
        for (Output* output : {&data_, &svg_})
            if (output->file)
                output->file->publish();
    }

  private:
    struct Output {
        std::optional<std::string> path;
        bool standard = false; // standard output, maybe by another name
        std::optional<OutputFile> file;
    };

    std::ostream* open(Output& output) {
        if (!output.path)
            return nullptr;
        if (output.standard)
            return &text_;
        if (!output.file)
            output.file.emplace(*output.path);
        return &output.file->stream();
    }

    Output data_, svg_;
    std::ostringstream text_;
};

} // namespace support
