//go:build !linux

package main

import "errors"

func prepare() error { return errors.New("a node needs Linux") }
