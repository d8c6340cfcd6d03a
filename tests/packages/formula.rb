# Installs with the Homebrew formula, without Homebrew: defines the parts of its language that the formula uses, checks the archive of
# this platform against the formula's digest, and runs the formula's `install` and `test`.
#
#   ruby formula.rb FORMULA ARCHIVES PREFIX OS CPU      such as linux intel

require "digest"
require "fileutils"
require "open3"
require "pathname"

FORMULA, ARCHIVES, PREFIX, OS, CPU = ARGV

# A directory of the installation.
class Target < Pathname
  def install(what)
    files = what.is_a?(Hash) ? what.to_a : Array(what).map { |file| [file, File.basename(file)] }
    raise "nothing to install in #{self}" if files.empty?

    mkpath
    files.each { |from, to| FileUtils.cp(from, self + to) }
  end
end

class Formula
  class << self
    attr_reader :tests, :archive

    def desc(text)
      raise "the description is longer than 80 characters" if text.length > 80
    end

    def homepage(text) = text

    def license(_) = nil

    def version(text = nil) = text ? @version = text : @version

    %w[linux macos intel arm].each { |on| define_method("on_#{on}") { |&block| block.call if [OS, CPU].include?(on) } }

    def url(text)
      raise "two archives for #{OS} #{CPU}" if @archive

      @archive = { name: text.split("/").last }
    end

    def sha256(digest) = @archive[:digest] = digest

    def test(&block) = @tests = block
  end

  def version = self.class.version

  def bin = Target.new("#{PREFIX}/bin")

  def man1 = Target.new("#{PREFIX}/share/man/man1")

  def bash_completion = Target.new("#{PREFIX}/etc/bash_completion.d")

  def fish_completion = Target.new("#{PREFIX}/share/fish/vendor_completions.d")

  def zsh_completion = Target.new("#{PREFIX}/share/zsh/site-functions")

  def shell_output(command)
    output, status = Open3.capture2(command)
    raise "#{command}: #{status}" unless status.success?

    output
  end

  def system(*command)
    output, status = Open3.capture2e(*command.map(&:to_s))
    raise "#{command.join(" ")}: #{status}\n#{output}" unless status.success?
  end

  def assert_match(expected, actual)
    raise "#{actual.inspect} does not contain #{expected}" unless actual.include?(expected)
  end
end

load FORMULA
archive = Metier.archive or raise "no archive for #{OS} #{CPU}"
file = File.join(ARCHIVES, archive[:name])
actual = Digest::SHA256.file(file).hexdigest
raise "the digest of #{file} is #{actual}, but the formula says #{archive[:digest]}" if actual != archive[:digest]

place = "#{PREFIX}.unpacked"
FileUtils.mkdir_p(place)
Kernel.system("tar", "-xzf", file, "-C", place, "--strip-components=1", exception: true)
formula = Metier.new
Dir.chdir(place) { formula.install }
formula.instance_eval(&Metier.tests)
