# Every target does its own set-up on a fresh Debian 12 machine: packages, configuration, build.
.DEFAULT_GOAL := help
.PHONY: help setup build run test test-torch2 package tidy format bench asan tsan fuzz mutants clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## install what is missing (Debian packages; as root or with sudo)
	@tools/setup build

build: setup ## build everything into build/release
	@tools/build release all

run: setup ## see EDL at work: a job whose workers come, go and die, and the same undisturbed
	@tools/build release edl digits
	@tools/demo

test: ## build and run all tests
	@tools/setup test
	@tools/build release all
	@tools/check release

test-torch2: ## the tests of programs in Python with a current torch, which pip installs into build/torch2
	@tools/setup test
	@tools/torch2
	@tools/build release edl libedl
	@tools/check torch2

package: ## a wheel and a Debian package in build/packages
	@tools/setup package
	@tools/build release edl libedl
	@tools/package

tidy: ## format, lint, layers, headers, banned calls, links
	@tools/setup tidy
	@tools/tidy

format: ## rewrite the sources in our format
	@tools/setup tidy
	@tools/tidy --format

bench: ## run every benchmark
	@tools/setup bench
	@if [ -f build/release/build.ninja ]; then cmake --preset release >build/release/configure.log; fi
	@tools/build release all
	@tools/bench

asan: ## unit and world tests under the address and undefined-behaviour sanitizers
	@tools/setup fuzz
	@tools/build asan tests
	@tools/check asan

tsan: setup ## threaded tests under the thread sanitizer
	@tools/build tsan threaded_tests
	@tools/check tsan

fuzz: ## every parser under libFuzzer; SECONDS=n for each
	@tools/setup fuzz
	@tools/build asan fuzzers
	@tools/fuzz

mutants: setup ## plant each bug of tests/mutants and see the tests fail
	@tools/mutants

clean: ## remove build/
	rm -rf build
