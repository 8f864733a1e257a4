import{g as a,h as b}from"./chunk-IX7GHT63.js";import"./chunk-L7PZYR6B.js";import"./chunk-YSWWPPCJ.js";export{b as State,a as default};
