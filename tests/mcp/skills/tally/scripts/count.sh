#!/bin/sh
echo "$# words: $*"
