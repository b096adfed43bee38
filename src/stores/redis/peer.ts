/**
 * Imports of optional packages by a name that bundlers do not see. They would look for the package when they build, and
 * fail if it is not installed, also for a program that never uses it.
 *
 * Each package has an import of its own. The compiler puts a helper around the name; of one that is called once, a
 * minifier (terser) writes the body into the call, and turns `import((a, b))` into `import(a, b)`, which is another
 * call.
 */
import type * as NodeRedis from '@redis/client'
import type * as Ioredis from 'ioredis'

/** @param name `@redis/client` */
export const importNodeRedis = (name: string): Promise<typeof NodeRedis> =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ name) as Promise<typeof NodeRedis>

/** @param name `ioredis` */
export const importIoredis = (name: string): Promise<typeof Ioredis> =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ name) as Promise<typeof Ioredis>
