/** Chance by a seed, in the words of a simulation. */
import { seededRandom } from 'jobchart/testing'

export class Dice {
  readonly random: () => number

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** 0 … count − 1. */
  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T
  }

  /** One of the keys, as often as its weight says. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries<number>(weights)
    let left = this.random() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    const [key] = entries.find(([, weight]) => (left -= weight) < 0) ?? (entries.at(-1) as [string, number])
    return key as Key
  }
}
