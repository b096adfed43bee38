/**
 * The import of an optional package by a name that bundlers do not see. They would look for the package when they
 * build, and fail if it is not installed, also for a program that never uses it.
 */
import type * as Pg from 'pg'

/** @param name `pg` */
export const importPg = (name: string): Promise<typeof Pg> =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ name) as Promise<typeof Pg>
