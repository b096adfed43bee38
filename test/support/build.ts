/** Builds the package before tests look at it as it is published. */
import { execFileSync } from 'node:child_process'

export default function build(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
}
