/**
 * Imports an optional package by a name that bundlers do not see. They would look for the package when they build, and fail if it is not
 * installed, also for a program that never uses it.
 */
export const importPeer = (name: string): Promise<unknown> => import(/* webpackIgnore: true */ /* @vite-ignore */ name)
