import{g as a,h as b}from"./chunk-QHR3FC7U.js";import"./chunk-L7PZYR6B.js";import"./chunk-ZBH4WBPP.js";export{b as State,a as default};
